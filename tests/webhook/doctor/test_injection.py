"""Controllers whose pods were injected in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policies.model.pod_template import INJECTED_ANNOTATION
from tests.webhook.doctor.installation import Change, Cluster, diagnosis, found, wording

PARTLY = [("injected-in-part", "warning")]


def owned(injected: str, *, kind: str = "ReplicaSet", name: str = "web-5d4", **metadata: Any) -> Change:
    """Add a controller's pods, injected (+) or missed (-)."""

    def change(cluster: Cluster) -> None:
        for number, sign in enumerate(injected):
            owners = [{"kind": "Foo", "name": "x"}, {"kind": kind, "name": name, "controller": True}]
            cluster.objects[f"/api/v1/namespaces/shop/pods/{name}-{number}"] = {
                "metadata": {
                    "namespace": "shop",
                    "annotations": {INJECTED_ANNOTATION: "default"} if sign == "+" else None,
                    "ownerReferences": owners,
                    **metadata,
                },
            }

    return change


def many(cluster: Cluster) -> None:
    for number in range(12):
        owned("-+", name=f"web{number:02}-5d4")(cluster)


CASES = [
    pytest.param(owned("++"), [], id="2 of 2 injected"),
    pytest.param(owned("--"), [], id="0 of 2 injected"),
    pytest.param(owned("-++"), PARTLY, id="2 of 3 injected"),
    pytest.param(owned("-+", kind="StatefulSet", name="db"), PARTLY, id="of a StatefulSet"),
    pytest.param(owned("-+", kind="CloneSet", name="web"), PARTLY, id="of a kind without a command"),
    pytest.param(owned("-+", kind="DaemonSet", name="log"), [], id="a DaemonSet's are never injected"),
    pytest.param(owned("-+", ownerReferences=None), [], id="without a controller"),
    pytest.param(owned("-+", deletionTimestamp="now"), [], id="terminating"),
    pytest.param(many, PARTLY * 11, id="12 controllers: 10 and how many more"),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: list[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == found(diagnosis(change))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("injection.txt", text) == text
