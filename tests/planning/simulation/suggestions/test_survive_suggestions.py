"""The suggestions by which a workload survives, tried against every loss."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.suggestions.survive_suggestions import SurvivalHelp, find_help
from planning.simulation.survive.loss import LossOptions
from planning.simulation.survive.survive import SingleLosses
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import read_workload
from policies.scheduler.changes import ChangeKind, ClusterChange
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler.clusters import an_index

#: Three zones of 4 CPUs, the third of 8.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", cpu="8")]


def _help(cpu: str = "1", *, unreachable: bool = False, **fields: Any) -> list[SurvivalHelp]:
    containers = [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}]
    spread = [a_constraint(**fields)]
    workload = a_workload(spec={"topologySpreadConstraints": spread, "containers": containers})
    workload["spec"]["replicas"] = 3
    context = AdmissionContext(policies=(), cluster=an_index(NODES))
    options = LossOptions(ZONE_KEY, unreachable=unreachable)
    survival = SingleLosses([read_workload(workload, context)], context, options, UNREAD_PODS.running)
    return list(find_help(survival, tuple(survival.losses()), context, UNREAD_PODS.running))


def _changes(found: SurvivalHelp) -> dict[ChangeKind, bool | None]:
    return {entry.suggestion.changes[0].what: entry.survives for entry in found.found}


def test_a_survivor_needs_no_help() -> None:
    """There is nothing to look for."""
    assert [] == _help()


@pytest.mark.parametrize(
    ("fields", "proven"),
    [
        pytest.param({"minDomains": 3}, ChangeKind.MIN_DOMAINS, id="minDomains 3: 2 is enough"),
        pytest.param(
            {"unreachable": True}, ChangeKind.NODE_TAINTS_POLICY, id="unreachable: nodeTaintsPolicy Honor"
        ),
    ],
)
def test_what_is_proven(fields: dict[str, Any], proven: ChangeKind) -> None:
    """The first change of the manifest gives up least, and with it every loss is survived."""
    (found,) = _help(**fields)
    first = next(entry for entry in found.found if entry.suggestion.edits)

    assert ("a", proven, True) == (found.domain, first.suggestion.changes[0].what, first.survives)


def test_no_node_in_the_domain_that_is_lost() -> None:
    """In an outage a new node in the very zone that is out would be out, too."""
    for found in _help(unreachable=True):
        changes = [entry.suggestion.changes[0] for entry in found.found]
        nodes = [change for change in changes if isinstance(change, ClusterChange)]

        assert (ZONE_KEY, found.domain) not in {(change.key, change.value) for change in nodes}


def test_no_guarantee_goes_first() -> None:
    """minDomains 3 of 2 after a loss: a node in a new domain comes before fewer domains and softer limits."""
    (found,) = _help(minDomains=3)

    assert [False, True, True] == [entry.suggestion.weakens for entry in found.found][:3]


def test_what_is_in_no_manifest() -> None:
    """Without the zone of 8 CPUs there is room for two of 3; smaller requests help in every loss."""
    (found,) = _help(cpu="3")
    changes = _changes(found)

    assert ({None, True}, True) == (set(changes.values()), changes[ChangeKind.REQUESTS])


def test_what_lacks_replicas_anyway() -> None:
    """Suggestions for missing replicas are searched for before any loss."""
    (found,) = _help(cpu="5")

    assert found.domain is None


def test_proofs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once no more pods may be scheduled, the change at hand and those after it are not proven."""
    monkeypatch.setattr("planning.simulation.suggestions.survive_suggestions.FEW_SCHEDULED", 2)
    monkeypatch.setattr("planning.simulation.suggestions.survive_suggestions.MOST_SCHEDULED", 0)
    (found,) = _help(minDomains=3)
    proven = [entry.survives for entry in found.found if entry.suggestion.edits]

    assert None in proven
    assert False not in proven


def test_many_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more losses than are tried for each change, changes are not proven."""
    monkeypatch.setattr("planning.simulation.suggestions.survive_suggestions.MOST_LOSSES", 2)
    (found,) = _help(minDomains=3)

    assert {None} == set(_changes(found).values())
