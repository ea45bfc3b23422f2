"""1,000 policies and 10,000 namespaces: which policies select an object, and what a change of policies costs.

Three ways in which policies are written: each for the namespaces of a team by label, each for namespaces by
name, and each for every namespace but for objects with a label. The floor is to compare with every scope.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from policies.config.policy_resource import read_policy_resource
from policies.config.policy_set import PolicySet
from policies.config.spread_policy import SpreadPolicy
from webhook.policy_controller.controller import PolicyResources, policies_of

POLICIES, NAMESPACES = 1_000, 10_000
#: Microseconds that finding the policies of an object may cost: the project's aim.
AIM_US = 50.0
#: Objects that are looked at.
OBJECTS = 20_000
POD = frozenset({"Pod", "ReplicaSet", "Deployment"})

#: A namespace with its labels.
Namespace = tuple[str, dict[str, str]]


def documents(
    scope_of: Callable[[int], dict[str, Any]], enforcement: str = "deny"
) -> Iterator[dict[str, Any]]:
    """Yield policies as an API server has them."""
    for number in range(POLICIES):
        yield {
            "apiVersion": "evenkeel.dev/v1alpha1",
            "kind": "SpreadPolicy",
            "metadata": {"name": f"policy-{number:04}", "uid": str(number), "generation": 1},
            "spec": {
                "scope": scope_of(number),
                "enforcement": enforcement,
                "rules": {"selector-misses-own-pod": {"severity": "error"}},
            },
        }


def _by_label(number: int) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"team": f"team-{number}"}}}


def _by_name(number: int) -> dict[str, Any]:
    return {"namespaces": [f"ns-{number * 10 + place}" for place in range(10)]}


def _by_object(number: int) -> dict[str, Any]:
    return {"excludeNamespaces": ["kube-*"], "objectSelector": {"matchLabels": {"app": f"app-{number}"}}}


SCOPES = {"namespaces by label": _by_label, "namespaces by name": _by_name, "objects by label": _by_object}


def namespaces() -> list[Namespace]:
    """Return namespaces, ten of each team."""
    return [
        (name, {"kubernetes.io/metadata.name": name, "team": f"team-{number % POLICIES}"})
        for number, name in ((number, f"ns-{number}") for number in range(NAMESPACES))
    ]


def _each(policies: PolicySet, asked: list[tuple[Namespace, dict[str, str]]]) -> list[float]:
    """Return the microseconds that each object took."""
    taken = []
    for (name, labels), own in asked:
        started = time.perf_counter()
        found = policies.selecting(name, labels, own, POD)
        taken.append((time.perf_counter() - started) * 1e6)
        assert len(found) == 1
    return taken


def _linear(policies: list[SpreadPolicy], asked: list[tuple[Namespace, dict[str, str]]]) -> float:
    started = time.perf_counter()
    for (name, labels), own in asked:
        [policy for policy in policies if policy.scope.matches(name, labels, own, POD)]
    return (time.perf_counter() - started) / len(asked) * 1e6


def _spread(taken: list[float]) -> str:
    most = statistics.quantiles(taken, n=100)[98]
    return f"median {statistics.median(taken):4.1f}, 99th percentile {most:4.1f}"


def _asked(count: int) -> list[tuple[Namespace, dict[str, str]]]:
    chosen = random.Random(1)
    known = namespaces()
    return [(chosen.choice(known), {"app": f"app-{chosen.randrange(POLICIES)}"}) for _ in range(count)]


def _selection() -> None:
    print(f"{POLICIES:,} policies, {NAMESPACES:,} namespaces (µs an object; aim: {AIM_US:.0f}):")
    for title, scope in SCOPES.items():
        resources = [read_policy_resource(obj, None, has_scheduler_config=False) for obj in documents(scope)]
        policies = PolicySet(policies_of(resources))
        asked = _asked(OBJECTS)
        first = _each(
            policies, [(namespace, own) for namespace, (_, own) in zip(namespaces(), asked, strict=False)]
        )
        again = _each(policies, asked)
        floor = _linear(list(policies), asked[:200])
        print(
            f"  {title:<20} {_spread(again)}; first look at a namespace {_spread(first)}; "
            f"every scope {floor:.0f}"
        )


def _changes() -> None:
    """Print what it costs that all policies change at once, and that one does."""
    resources = PolicyResources(lambda: None, has_scheduler_config=False)
    for obj in documents(_by_label):
        resources.apply(obj)
    started = time.perf_counter()
    for obj in documents(_by_label, "warn"):
        resources.apply(obj)
    read = time.perf_counter()
    policies = PolicySet(policies_of(resources.listed()))
    built = time.perf_counter()
    one = next(iter(documents(_by_label, "audit")))
    began = time.perf_counter()
    resources.apply(one)
    PolicySet(policies_of(resources.listed()))
    ended = time.perf_counter()
    print(
        f"  all {len(policies):,} change: {(read - started) * 1e3:.0f} ms to check them, "
        f"{(built - read) * 1e3:.1f} ms to put them into force; one changes: {(ended - began) * 1e3:.1f} ms"
    )


def run() -> None:
    """Print both."""
    _selection()
    _changes()


if __name__ == "__main__":
    run()
