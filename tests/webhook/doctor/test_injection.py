"""Controllers whose pods were injected in part, and namespaces that opted out."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import a_namespace, checks_of, evidence, healthy, remedies
from webhook.doctor import injection
from webhook.doctor.facts import Injection, Known, Owner

CHECKS = checks_of(injection.CHECKS)


def an_owner(number: int, restart: str = "kubectl -n shop rollout restart deployment/web") -> Owner:
    return Owner("ReplicaSet", "shop", f"web-{number}", restart, injected=2, bare=1)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param(1, 1, id="1"),
        pytest.param(10, 10, id="10: each is told"),
        pytest.param(12, 11, id="12: 10 and how many more"),
    ],
)
def test_partial(count: int, expected: int) -> None:
    """Each controller is a warning with its counts, as long as they are few."""
    facts = healthy(injection=Known(Injection(tuple(map(an_owner, range(count))), 40)))
    told = evidence(CHECKS["injected-in-part"], facts).splitlines()

    assert expected == len(told)
    assert min(count, 10) == sum("1 of 3 pods are without evenkeel.dev/injected-by" in line for line in told)
    assert count < 11 or told[-1] == "warning: 2 more controllers with 2 pods that were not injected"


@pytest.mark.parametrize(
    ("restart", "expected"),
    [
        pytest.param("kubectl …", "kubectl …", id="a command"),
        pytest.param(
            "", "delete the pods of ReplicaSet web-1 that lack it, one after the other", id="none is known"
        ),
    ],
)
def test_what_to_do(restart: str, expected: str) -> None:
    """The command makes the pods anew."""
    facts = healthy(injection=Known(Injection((an_owner(1, restart),), 3)))

    assert [expected] == remedies(CHECKS["injected-in-part"], facts)


@pytest.mark.parametrize("partial", [(), (an_owner(1),)], ids=["none", "1"])
def test_what_could_not_be_looked_at(partial: tuple[Owner, ...]) -> None:
    """It is said how much was not seen."""
    facts = healthy(injection=Known(Injection(partial, 3, "2 of 5 namespaces could not be looked at")))
    told = [verdict.evidence for verdict in CHECKS["injected-in-part"].ask(facts)]

    assert told[-1].endswith("3 pods; 2 of 5 namespaces could not be looked at")


@pytest.mark.parametrize(
    ("exempt", "expected"),
    [
        pytest.param([], 'no namespace has evenkeel.dev/inject: "false"', id="none"),
        pytest.param(
            ["b", "a"],
            'nothing is injected in 2 namespaces with evenkeel.dev/inject: "false": a, b',
            id="2, in order",
        ),
    ],
)
def test_exempt(exempt: list[str], expected: str) -> None:
    """Namespaces that opted out are listed, and nothing is wrong with that."""
    namespaces = (a_namespace("shop"), *(a_namespace(name, exempt=True) for name in exempt))
    (verdict,) = CHECKS["namespaces-exempt"].ask(healthy(namespaces=Known(namespaces)))

    assert ("ok", expected) == (str(verdict.status), verdict.evidence)
