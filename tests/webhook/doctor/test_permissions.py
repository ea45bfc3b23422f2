"""What the replicas' account may do."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import NAMES, checks_of, evidence, healthy, remedies
from webhook.doctor import permissions
from webhook.doctor.facts import Ask, Known
from webhook.doctor.permissions import EXCESSIVE, following, vouching

CHECKS = checks_of(permissions.CHECKS)
NEEDED = (*following(), *vouching(NAMES, "evenkeel-tls", "evenkeel"))


@pytest.mark.parametrize(
    ("lacking", "expected"),
    [
        pytest.param((), "", id="everything is granted"),
        pytest.param(NEEDED[:2], "may not list namespaces, watch namespaces", id="2 are not"),
        pytest.param(NEEDED, "list nodes, watch nodes, list services and 17 more", id="22 are not"),
        pytest.param(
            NEEDED[-1:], "patch validatingwebhookconfigurations.admissionregistration.k8s.io/", id="1"
        ),
    ],
)
def test_needed(lacking: tuple[Ask, ...], expected: str) -> None:
    """What the account may not do is named."""
    access = {**{ask: ask not in lacking for ask in NEEDED}, **dict.fromkeys(EXCESSIVE, False)}
    told = evidence(CHECKS["permissions-needed"], healthy(access=Known(access)))

    assert expected in told
    assert bool(expected) == told.startswith("problem: ServiceAccount evenkeel/evenkeel may not")


@pytest.mark.parametrize("ask", EXCESSIVE, ids=str)
def test_excessive(ask: Ask) -> None:
    """Each thing that is too much is a warning."""
    facts = healthy(access=Known({other: other == ask for other in EXCESSIVE}))

    assert f"warning: ServiceAccount evenkeel/evenkeel may {ask} in the whole cluster" in evidence(
        CHECKS["permissions-excessive"], facts
    )
    assert ["find the binding: kubectl get clusterrolebindings -o wide | grep evenkeel/evenkeel"] == remedies(
        CHECKS["permissions-excessive"], facts
    )


def test_every_followed_kind_is_asked_about() -> None:
    """What is listed and watched is what the account must be able to."""
    followed = [
        "namespaces",
        "nodes",
        "services",
        "replicationcontrollers",
        "statefulsets.apps",
        "replicasets.apps",
        "pods",
    ]

    asked = list(map(str, following()))

    assert [f"{verb} {kind}" for kind in followed for verb in ("list", "watch")] == asked
