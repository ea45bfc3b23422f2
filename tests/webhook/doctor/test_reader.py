"""Reads of single objects, lists and permissions."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import CORE, SERVICE, Change, a_cluster
from webhook.doctor.observations import Missing, Observation, Observed
from webhook.doctor.reader import Reader, observe


def refusing(status: int, **body: str) -> Change:
    return lambda cluster: cluster.answers.update({SERVICE: (status, {"kind": "Status", **body})})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda cluster: cluster.objects.pop(SERVICE), Observed(None), id="404: does not exist"),
        pytest.param(
            refusing(403, message='services "evenkeel" is forbidden: User "jane" cannot get resource'),
            Missing('services "evenkeel" is forbidden: User "jane" cannot get resource'),
            id="403: says itself what",
        ),
        pytest.param(
            refusing(500, message="etcd is slow"),
            Missing(f"cannot read {SERVICE}: etcd is slow"),
            id="500: says what was read",
        ),
    ],
)
def test_objects(change: Change, expected: Observation[None]) -> None:
    """A read is a value, or the reason why there is none."""
    assert expected == observe(lambda: Reader(a_cluster(change)).get(SERVICE))


def test_a_list_that_fails() -> None:
    """It names what was read, too."""
    broken = (500, {"kind": "Status", "message": "etcd is slow"})
    reader = Reader(a_cluster(lambda cluster: cluster.answers.update({f"{CORE}/pods": broken})))

    assert Missing(f"cannot read {CORE}/pods: etcd is slow") == observe(lambda: reader.list(f"{CORE}/pods"))


def test_permissions() -> None:
    """Each permission of an account is reviewed by itself."""
    reader = Reader(a_cluster(lambda cluster: cluster.granted.add(("a", "list pods"))))

    assert {"list pods": True, "list nodes": False} == reader.permissions(
        "evenkeel/a", ["list pods", "list nodes"]
    )
    assert {"list pods": False} == reader.permissions("evenkeel/b", ["list pods"])
