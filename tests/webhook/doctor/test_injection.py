"""Controllers whose pods were injected in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policies.model.pod_template import INJECTED_ANNOTATION
from tests.builders import a_policy
from tests.webhook.doctor.installation import Change, Cluster, all_of, diagnosis, found, wording

PARTLY = [("injected-in-part", "warning")]


def owned(injected: str, *, kind: str = "ReplicaSet", name: str = "web-5d4", **metadata: Any) -> Change:
    """Add a controller's pods, injected (+) or missed (-)."""

    def change(cluster: Cluster) -> None:
        for number, sign in enumerate(injected):
            owners = [{"kind": "Foo", "name": "x"}, {"kind": kind, "name": name, "controller": True}]
            cluster.objects[f"/api/v1/namespaces/shop/pods/{name}-{number}"] = {
                "metadata": {
                    "name": f"{name}-{number}",
                    "namespace": "shop",
                    "labels": {"app": "web"},
                    "annotations": {INJECTED_ANNOTATION: "default"} if sign == "+" else None,
                    "ownerReferences": owners,
                    **metadata,
                },
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            }

    return change


def with_policy(at: str = "pods", **spec: Any) -> Change:
    """Add a policy that gives default constraints."""
    soft = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    }
    policy = a_policy("shops", defaults={"at": at, "constraints": [soft]}, **spec)
    policy["metadata"] |= {"uid": "1", "resourceVersion": "1", "generation": 1}
    path = f"/apis/{policy['apiVersion']}/spreadpolicies/shops"
    return lambda cluster: cluster.objects.update({path: policy})


def with_arguments(*arguments: str) -> Change:
    """Start the replicas with other arguments."""
    return lambda cluster: cluster.set_arguments(*arguments)


def hidden(cluster: Cluster) -> None:
    cluster.forbidden = lambda path: path.endswith("/spreadpolicies")


def gone(cluster: Cluster) -> None:
    """Answer that the pod that was missed has been deleted since it was listed."""
    path = "/api/v1/namespaces/shop/pods/web-5d4-0"
    cluster.answers[path] = (404, {"kind": "Status", "reason": "NotFound", "message": "not found"})


def many(cluster: Cluster) -> None:
    for number in range(12):
        owned("-+", name=f"web{number:02}-5d4")(cluster)


CASES = [
    pytest.param(owned("++"), [], id="2 of 2 injected"),
    pytest.param(owned("--"), [], id="0 of 2 injected"),
    pytest.param(owned("-++"), PARTLY, id="2 of 3 injected"),
    pytest.param(all_of(owned("-++"), with_policy()), PARTLY, id="a policy selects it"),
    pytest.param(
        all_of(owned("-++"), with_policy(scope={"namespaces": ["pay"]})), PARTLY, id="a policy for others"
    ),
    pytest.param(all_of(owned("-++"), with_policy(at="workloads")), PARTLY, id="a policy for workloads"),
    pytest.param(
        all_of(owned("-++"), with_arguments("--defaults=policy", "--policy=builtin:soft-spread")),
        PARTLY,
        id="a built-in policy selects it",
    ),
    pytest.param(all_of(owned("-++"), with_arguments("--defaults=Soft")), PARTLY, id="soft defaults"),
    pytest.param(
        all_of(owned("-++"), with_policy(), with_arguments("--defaults=off")), PARTLY, id="a policy, and off"
    ),
    pytest.param(
        all_of(owned("-++"), with_policy(), with_arguments("--defaults=x")), PARTLY, id="no such mode"
    ),
    pytest.param(
        all_of(owned("-++"), with_arguments("--policy=/a.yaml", "--policy=builtin:no")),
        PARTLY,
        id="a policy in a file",
    ),
    pytest.param(all_of(owned("-++"), with_policy(), hidden), PARTLY, id="policies that may not be read"),
    pytest.param(all_of(owned("-++"), with_policy(), gone), PARTLY, id="the pod is gone"),
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


@pytest.mark.parametrize(
    ("change", "selected"),
    [
        pytest.param(with_policy(), True, id="selected"),
        pytest.param(with_policy(scope={"namespaces": ["pay"]}), False, id="of another namespace"),
        pytest.param(with_policy(scope={"objectSelector": {"matchLabels": {"a": "b"}}}), False, id="labels"),
        pytest.param(
            with_policy(
                scope={"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}
            ),
            True,
            id="labels of its namespace",
        ),
        pytest.param(with_policy(at="workloads"), False, id="for workloads"),
        pytest.param(lambda _cluster: None, False, id="none"),
    ],
)
def test_which_cause_remains(change: Change, *, selected: bool) -> None:
    """The webhook is blamed only for pods that a policy gives constraints to."""
    (result,) = (each for each in diagnosis(owned("-+"), change).results if each.check == PARTLY[0][0])

    assert selected == ("SpreadPolicy shops selects them now" in result.evidence)
    assert selected == ("while the webhook did not answer" in result.evidence)
