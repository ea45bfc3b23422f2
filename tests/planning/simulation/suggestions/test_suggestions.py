"""The suggestions by which a pod fits: real scenarios, any cluster, and constraints from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given

from planning.simulation.suggestions.suggestions import (
    MOST_VERDICTS,
    ExternalChange,
    Suggestion,
    Suggestions,
    find_suggestions,
)
from policies.config.context import AdmissionContext
from policies.manifests.edits import apply_edits
from policies.model.constraint import Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.taints import CORDON_TAINT
from policies.pods.placement import evaluate_manifest
from policies.scheduler.changes import Change, ChangeKind, ClusterChange
from policies.scheduler.configuration import (
    DefaultingType,
    SchedulerConfig,
    SchedulerProfile,
    build,
    build_profile,
)
from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod, a_policy, a_workload
from tests.planning.verdicts import on
from tests.policies.config.contexts import a_context
from tests.policies.pods.test_placement import REFUSED, UNMODELED, replay
from tests.policies.scheduler.clusters import an_index, objects_of
from tests.policies.scheduler.scheduler_configs import a_config, with_plugins
from tests.policies.scheduler.strategies import cases
from tests.recorded import recorded_placements

Object = dict[str, Any]


def context_of(*objects: Mapping[str, Any], **fields: Any) -> AdmissionContext:
    return AdmissionContext(policies=(), cluster=an_index(objects), **fields)


def suggestions_of(obj: Object, context: AdmissionContext) -> Suggestions:
    return find_suggestions(evaluate_manifest(obj, context), context)


def told(suggestion: Suggestion) -> str:
    """Return the edits of a suggestion without the way to the constraints, or the change of the cluster."""
    if suggestion.in_cluster:
        change = suggestion.in_cluster
        where = f" {change.key.rpartition('/')[2]}={change.value}" if change.key else ""
        return f"{change.what} {','.join(change.nodes)}{where}"
    texts = [f"{edit.path}={edit.new}" for edit in suggestion.edits]
    return " ".join(texts).replace("spec.template.", "").replace("spec.topologySpreadConstraints", "")


#: The first suggestions for each recorded pod that stayed pending.
SCENARIOS = {
    "cordon-zone3-donotschedule": ["cordon n3", "[0].nodeTaintsPolicy=Honor"],
    "docs-03-conflicting": ["[0].maxSkew=2", "[1].maxSkew=2"],
    "docs-04c-affinity-policy-ignore": ["[0].nodeAffinityPolicy=Honor", "[0].maxSkew=2"],
    "docs-05b-missing-label-only-free": ["nodeLabel node5 zone=zoneB", "newNode node3 zone=zoneB"],
    "gated": ["spec.schedulingGates=None"],
    "label-missing-everywhere": ["[0].whenUnsatisfiable=ScheduleAnyway", "=None"],
    "mindomains-3-of-2": ["newNode n1 zone=None", "[0].minDomains=2"],
    "no-nodes": [],
    "notready-zone3": ["[0].nodeTaintsPolicy=Honor", "newNode n3 zone=zone3"],
    "taint-330-donotschedule": ["[0].nodeTaintsPolicy=Honor", "newNode n3 zone=zone3"],
    "zone-cpu-full": ["newNode n3 zone=zone3", "[0].maxSkew=2"],
    "zone-full-donotschedule": ["newNode n3 zone=zone3", "[0].maxSkew=2"],
}


def test_every_pending_scenario_is_told() -> None:
    """The table above has each recorded pod that no node took."""
    pending = {
        name
        for name, scenario in recorded_placements().items()
        if name not in UNMODELED | {REFUSED}
        and any(entry["node"] is None for entry in scenario["outcome"]["placements"])
    }

    assert pending == SCENARIOS.keys()


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_what_helps_in_real_scenarios(name: str) -> None:
    """The smallest change comes first, and with each of them the edited manifest fits."""
    scenario = recorded_placements()[name]
    for real, placement, context in _replay_with_context(scenario):
        if real["node"] is None:
            found = find_suggestions(placement, context).found
            break

    assert SCENARIOS[name] == [told(suggestion) for suggestion in found][:2]
    for suggestion in found:
        if suggestion.in_cluster is None:
            assert suggestion.feasible == _feasible_after(placement.workload.obj, suggestion, context)


def _replay_with_context(scenario: Object) -> Iterator[tuple[Object, Any, AdmissionContext]]:
    """Yield the pairs of ``replay``, with a context of the same cluster."""
    objects = [*scenario["nodes"], *scenario["pods"], *scenario.get("objects", ())]
    context = context_of(*objects)
    for number, (real, placement) in enumerate(replay(scenario)):
        yield real, placement, context
        if real["node"] is not None and context.cluster is not None:
            metadata = {**placement.pod.obj["metadata"], "name": f"placed-{number}"}
            spec = {**placement.pod.obj["spec"], "nodeName": real["node"]}
            context.cluster.apply({**placement.pod.obj, "metadata": metadata, "spec": spec})


def _feasible_after(obj: Any, suggestion: Suggestion, context: AdmissionContext) -> int:
    return evaluate_manifest(apply_edits(obj, suggestion.edits), context).result.feasible_count


@given(cases())
def test_every_suggestion_makes_the_manifest_fit(case: Object) -> None:
    """For any cluster and pod: with the edits, or the changed defaults, the pod fits."""
    profile = build_profile(case["args"])
    context = context_of(*objects_of(case), scheduler=SchedulerConfig({}, fallback=profile))
    suggestions = suggestions_of(case["pod"], context)
    event(
        f"{len(suggestions.found)} suggestions of at most "
        f"{max((_size(each) for each in suggestions.found), default=0)} changes"
    )

    assert suggestions.verdicts <= MOST_VERDICTS
    for suggestion in suggestions.found:
        changed = SchedulerConfig({}, fallback=_with_changes(profile, suggestion))
        edited = replace(context, scheduler=changed)
        if suggestion.in_cluster:
            edited = replace(context, cluster=an_index(_in_changed_cluster(case, suggestion.in_cluster)))
        assert suggestion.feasible == _feasible_after(case["pod"], suggestion, edited) > 0


def _in_changed_cluster(case: Object, change: ClusterChange) -> Iterator[Object]:
    """Yield the objects of a case after a change, as somebody would have made it."""
    for obj in deepcopy([dict(obj) for obj in objects_of(case)]):
        if obj["kind"] == "Node" and obj["metadata"]["name"] in change.nodes:
            match change.what:
                case ChangeKind.NEW_NODE:
                    yield from _further_nodes(obj, change)
                case ChangeKind.CORDON:
                    obj["spec"] = _without_cordon(obj["spec"])
                case ChangeKind.NODE_LABEL:
                    obj["metadata"].setdefault("labels", {})[change.key] = change.value
        if change.what is ChangeKind.TERMINATION and obj["metadata"].get("deletionTimestamp"):
            continue
        yield obj


def _without_cordon(spec: Object) -> Object:
    taints = [taint for taint in spec.get("taints") or () if taint["key"] != CORDON_TAINT.key]
    return {**spec, "unschedulable": False, "taints": taints}


def _further_nodes(obj: Object, change: ClusterChange) -> Iterator[Object]:
    """Yield new nodes, without taints: one that the pod tolerates would make no difference."""
    for number in range(change.count):
        name = f"new node {number + 1}"
        labels = {**(obj["metadata"].get("labels") or {}), HOSTNAME: name}
        if change.key and change.value is None:
            labels[change.key] = f"new {number + 1}"
        yield {**obj, "metadata": {"name": name, "labels": labels}, "spec": {}}


def _size(suggestion: Suggestion) -> int:
    return len(suggestion.edits) + len(suggestion.elsewhere)


def _with_changes(profile: SchedulerProfile, suggestion: Suggestion) -> SchedulerProfile:
    """Return a profile whose defaults are changed as a suggestion says."""
    constraints = list(profile.constraints)
    for elsewhere in suggestion.elsewhere:
        position = elsewhere.change.constraint or 0
        changed = _changed(constraints[position], elsewhere.change)
        constraints[position : position + 1] = [] if changed is None else [changed]
    return replace(profile, constraints=tuple(constraints))


def _changed(constraint: Constraint, change: Change) -> Constraint | None:
    match change.what:
        case ChangeKind.NODE_TAINTS_POLICY:
            return replace(constraint, node_taints_policy=NodeInclusionPolicy(str(change.value)))
        case ChangeKind.NODE_AFFINITY_POLICY:
            return replace(constraint, node_affinity_policy=NodeInclusionPolicy(str(change.value)))
        case ChangeKind.MIN_DOMAINS:
            return replace(constraint, min_domains=int(change.value or 0))
        case ChangeKind.MAX_SKEW:
            return replace(constraint, max_skew=int(change.value or 0))
        case ChangeKind.WHEN_UNSATISFIABLE:
            soft = WhenUnsatisfiable.SCHEDULE_ANYWAY
            return replace(constraint, when_unsatisfiable=soft, min_domains=1)
    return None


FULL = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 2), *on("n2", 2)]
TAINTED = a_node("n3", "c", taints=[{"key": "team", "effect": "NoSchedule"}])
BROKEN = a_node("n3", "c", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])


def _pod(*constraints: Object, **spec: Any) -> Object:
    return a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})


def _requesting(**requests: str) -> list[Object]:
    return [{"name": "c", "resources": {"requests": requests}}]


@pytest.mark.parametrize(
    ("obj", "nodes", "expected"),
    [
        pytest.param(
            _pod(a_constraint(minDomains=4)),
            FULL,
            ["[0].minDomains=2", "[0].maxSkew=3", "[0].whenUnsatisfiable=ScheduleAnyway [0].minDomains=None"],
            id="minDomains 4 of 2: 2, and softened without minDomains",
        ),
        pytest.param(
            _pod(a_constraint(), tolerations=[{"key": "other", "operator": "Exists"}]),
            [*FULL, TAINTED],
            [
                "[0].nodeTaintsPolicy=Honor",
                "spec.tolerations[1]={'key': 'team', 'operator': 'Exists', 'effect': 'NoSchedule'}",
                "[0].maxSkew=3",
                "[0].whenUnsatisfiable=ScheduleAnyway",
            ],
            id="tainted domain: a toleration is appended",
        ),
        pytest.param(
            _pod(a_constraint()),
            [*FULL, BROKEN],
            ["[0].nodeTaintsPolicy=Honor", "[0].maxSkew=3", "[0].whenUnsatisfiable=ScheduleAnyway", "=None"],
            id="broken node: its taint is not tolerated",
        ),
        pytest.param(
            _pod(a_constraint(), a_constraint(whenUnsatisfiable="ScheduleAnyway")),
            [*FULL, BROKEN],
            ["[0].nodeTaintsPolicy=Honor", "[0].maxSkew=3", "[0]=None"],
            id="a soft one of the same key: not softened",
        ),
        pytest.param(
            _pod(a_constraint(nodeAffinityPolicy="Honor"), nodeSelector={ZONE: "z"}),
            FULL,
            ["spec.nodeSelector=None"],
            id="no such zone: nodeSelector",
        ),
        pytest.param(
            _pod(containers=_requesting(cpu="5", memory="1Gi")),
            FULL,
            ["spec.containers[0].resources.requests[cpu]=4"],
            id="cpu 5 of 4: 4",
        ),
        pytest.param(
            _pod(containers=_requesting(cpu="5"), nodeSelector={ZONE: "z"}),
            FULL,
            ["spec.nodeSelector=None spec.containers[0].resources.requests[cpu]=4"],
            id="a pair: nodeSelector and cpu",
        ),
        pytest.param(
            _pod(a_constraint(topologyKey="rack"), a_constraint(topologyKey="row")),
            FULL,
            [
                "[0].whenUnsatisfiable=ScheduleAnyway [1].whenUnsatisfiable=ScheduleAnyway",
                "[1]=None [0].whenUnsatisfiable=ScheduleAnyway",
                "[0]=None [1].whenUnsatisfiable=ScheduleAnyway",
            ],
            id="a pair: two keys that no node has",
        ),
        pytest.param(
            _pod(
                a_constraint(topologyKey="rack"),
                a_constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"),
                a_constraint(topologyKey="row"),
                a_constraint(topologyKey="row", whenUnsatisfiable="ScheduleAnyway"),
            ),
            FULL,
            ["[0]=None [2]=None"],
            id="a pair: both taken out of the list, by their places before",
        ),
        pytest.param(
            _pod(a_constraint(topologyKey="row"), schedulingGates=[{"name": "g"}]),
            FULL,
            [
                "spec.schedulingGates=None [0].whenUnsatisfiable=ScheduleAnyway",
                "spec.schedulingGates=None =None",
            ],
            id="gated: and more",
        ),
        pytest.param(
            _pod(nodeName="gone", nodeSelector={"a": "b"}, containers=_requesting(cpu="9")),
            FULL,
            [],
            id="three obstacles: nothing",
        ),
        pytest.param(a_pod(), FULL, [], id="it fits: nothing"),
    ],
)
def test_what_is_proposed(obj: Object, nodes: list[Object], expected: list[str]) -> None:
    """Changes come by how little they give up; pairs only where no single one is enough."""
    found = suggestions_of(obj, context_of(*nodes)).found

    in_manifest = [told(suggestion) for suggestion in found if suggestion.in_cluster is None]
    assert expected == in_manifest[: max(len(expected), 1)]


def test_constraints_of_a_policy_are_changed_there() -> None:
    """A suggestion for an injected constraint has no path in a manifest, but the constraint and its field."""
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    policy = a_policy(defaults={"at": "workloads", "constraints": [constraint]})
    context = a_context(policy, cluster=[*FULL, a_node("n3", "c", unschedulable=True)])
    found = suggestions_of(a_workload("StatefulSet"), context).found
    first = next(suggestion for suggestion in found if suggestion.elsewhere)

    assert () == first.edits
    assert (ChangeKind.MAX_SKEW, 3, HOSTNAME) == _place_of(first.elsewhere[0])


def _place_of(elsewhere: ExternalChange) -> tuple[ChangeKind, Any, str]:
    return elsewhere.change.what, elsewhere.change.value, elsewhere.constraint.topology_key


def test_a_dropped_constraint_makes_room_for_defaults() -> None:
    """Without constraints of its own the pod gets the scheduler's, which may refuse it as well."""
    hard = Constraint(max_skew=1, topology_key="row", when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE)
    profile = SchedulerProfile(defaulting_type=DefaultingType.LIST, constraints=(hard,))
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    context = context_of(*FULL, service, scheduler=SchedulerConfig({}, fallback=profile))
    found = suggestions_of(_pod(a_constraint(topologyKey="rack")), context).found

    assert ["[0].whenUnsatisfiable=ScheduleAnyway"] == [told(suggestion) for suggestion in found]


def test_constraints_without_effect() -> None:
    """Where the profile does not score by the spread, a soft constraint keeps its place in the manifest."""
    soft = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
    hard = a_constraint(topologyKey="rack")
    config = build(a_config(with_plugins(score={"-PodTopologySpread": None})))
    context = context_of(*FULL, scheduler=config)
    found = suggestions_of(_pod(soft, hard), context).found

    assert ["[1].whenUnsatisfiable=ScheduleAnyway", "[1]=None"] == [
        told(suggestion) for suggestion in found if suggestion.in_cluster is None
    ][:2]


def test_a_search_ends() -> None:
    """However much could be tried, so many verdicts are the most, and it is said that there may be more."""
    constraints = [a_constraint(topologyKey=f"key-{number}") for number in range(30)]
    taints = [{"key": "t", "effect": "NoSchedule"}]
    nodes = [
        a_node(f"n{number}", None, taints=taints) | {"metadata": {"name": f"n{number}", "labels": labels}}
        for number in range(30)
        for labels in [{f"key-{other}": "x" for other in range(30) if other != number}]
    ]
    suggestions = suggestions_of(_pod(*constraints, nodeSelector={"a": "b"}), context_of(*nodes))

    assert suggestions.verdicts <= MOST_VERDICTS
