"""What the replicas' account may do."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import NAMES, checks_of, evidence, healthy, remedies
from webhook.doctor import permissions
from webhook.doctor.facts import Ask, Known
from webhook.doctor.permissions import (
    CLIENT_EXCESSIVE,
    CLIENT_NEEDED,
    EXCESSIVE,
    following,
    vouching,
)

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


@pytest.mark.parametrize(
    ("lacking", "granted", "expected"),
    [
        pytest.param((), (), "", id="as shipped"),
        pytest.param(
            CLIENT_NEEDED[:1], (), "may not create placements.evenkeel.dev, so --live", id="1 is lacking"
        ),
        pytest.param(
            (), CLIENT_EXCESSIVE[:1], "may get /metrics of the API server, and whoever", id="a path"
        ),
        pytest.param((), CLIENT_EXCESSIVE[1:3], "may list nodes, list pods, and whoever", id="2 too many"),
    ],
)
def test_the_account_that_people_ask_with(
    lacking: tuple[Ask, ...], granted: tuple[Ask, ...], expected: str
) -> None:
    """It may ask the replicas, and nothing else: whoever may ask gets a token of it for any audience."""
    access = {**{ask: ask not in lacking for ask in CLIENT_NEEDED}}
    access |= {ask: ask in granted for ask in CLIENT_EXCESSIVE}
    told = evidence(CHECKS["permissions-client"], healthy(client_access=Known(access)))

    assert expected in told
    assert bool(expected) == told.startswith("warning: ServiceAccount evenkeel/evenkeel-client may")


def test_where_nobody_is_asked_who_calls() -> None:
    """Such an account needs nothing."""
    assert not list(CHECKS["permissions-client"].ask(healthy(client_access=Known({}))))


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
