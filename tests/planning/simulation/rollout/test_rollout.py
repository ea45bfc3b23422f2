"""Deployments are rolled out step by step as their controllers do it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.rollout.courses import RolloutEnd
from policies.pods.placement import PlacementError, read_workload
from tests.builders import a_constraint, a_node, a_replica_set, a_workload
from tests.planning.rollouts import (
    CORDONED,
    THREE_ZONES,
    a_context,
    a_deployment,
    a_stateful_set,
    known_at,
    of_revisions,
    roll,
    running,
    story,
)
from tests.recorded import recorded_placements

#: A node that takes ten pods.
ONE_NODE = [a_node("n1", "a")]


def _signs(obj: dict[str, Any], *cluster: dict[str, Any]) -> str:
    """Return the order of creations and deletions."""
    course = roll(obj, a_context(*cluster)).courses.likely
    return "".join(sign.split(" ", 1)[0] for sign in story(course))


@pytest.mark.parametrize(
    ("replicas", "unavailable", "surge", "signs"),
    [
        pytest.param(2, "1%", "0%", "-+-+", id="2 desired, max unavailable 1%, surge 0%"),
        pytest.param(1, "1%", "0%", "-+", id="1 desired, max unavailable 1%, surge 0%"),
        pytest.param(2, "25%", "1%", "+-+-", id="2 desired, max unavailable 25%, surge 1%"),
        pytest.param(1, "25%", "1%", "+-", id="1 desired, max unavailable 25%, surge 1%"),
        pytest.param(2, "0%", "1%", "+-+-", id="2 desired, max unavailable 0%, surge 1%"),
        pytest.param(1, "0%", "1%", "+-", id="1 desired, max unavailable 0%, surge 1%"),
        pytest.param(2, 1, 1, "+-+-", id="2 desired, max unavailable 1, surge 1: one old at once, then one"),
        pytest.param(0, None, None, "", id="no replicas"),
    ],
)
def test_fenceposts(replicas: int, unavailable: Any, surge: Any, signs: str) -> None:
    """The examples above ``ResolveFenceposts`` in the controller's source."""
    obj = a_deployment(replicas, unavailable=unavailable, surge=surge)

    assert signs == _signs(obj, *ONE_NODE, *running("old", n1=replicas))


def test_ten_replicas() -> None:
    """10 replicas, maxUnavailable 2, maxSurge 3: 3 new ones, the old ones down to 8, the new ones up to 5.

    Then each new pod that becomes ready lets an old one go, and that another new one come.
    """
    nodes = [a_node("n1", "a"), a_node("n2", "a")]
    signs = _signs(a_deployment(10, unavailable=2, surge=3), *nodes, *running("old", n1=5, n2=5))

    assert "+++--++" + "-+" * 5 + "---" == signs


def test_recreate() -> None:
    """All old pods go before any new one comes."""
    obj = a_deployment(3, strategy={"type": "Recreate"})

    assert "---+++" == _signs(obj, *ONE_NODE, *running("old", n1=3))


def test_old_revision_is_placed_first() -> None:
    """Where none of the workload runs, the old revision is placed before the rollout starts."""
    rollout = roll(a_deployment(3, a_constraint(), surge=1), a_context(*THREE_ZONES))

    assert (3, 0) == (rollout.placed, rollout.running)
    assert ({"a": 1, "b": 1, "c": 1},) == rollout.courses.likely.before


@pytest.mark.parametrize(("count", "placed"), [(1, 2), (3, 0), (5, 2)])
def test_old_revision_is_scaled_first(count: int, placed: int) -> None:
    """A Deployment of another size than its pods is scaled before it is rolled out."""
    rollout = roll(a_deployment(3, surge=1), a_context(*ONE_NODE, *running("old", n1=count)))

    assert (placed, count, RolloutEnd.COMPLETE) == (rollout.placed, rollout.running, rollout.outcome)
    assert 6 == len(rollout.courses.likely.steps)


def test_rollout_that_has_begun() -> None:
    """Pods of the new revision that run are not created again, and older ReplicaSets go first."""
    obj = a_deployment(4, unavailable=0, surge=1)
    sets = [
        a_replica_set(a_workload(labels={"app": "web", "v": "2"}), "r2", number=2),
        a_replica_set(a_workload(labels={"app": "web", "v": "1"}), "r1", number=1),
        a_replica_set(obj, "r3", number=3),
    ]
    pods = [*running("r2", n1=1), *running("r1", n1=1), *running("r3", n1=2)]
    rollout = roll(obj, a_context(*ONE_NODE, *sets, *pods))

    assert (2, False) == (rollout.in_progress, rollout.restarted)
    assert ["+", "-", "+", "-"] == [sign.split(" ", 1)[0] for sign in story(rollout.courses.likely)]
    assert ["web-r1-n1-0", "web-r2-n1-0"] == [s.pod for s in rollout.courses.likely.steps if not s.new]


def test_restart() -> None:
    """The template that runs already is rolled out as a restart does: as a revision of its own."""
    obj = a_deployment(2, of_revisions(), surge=1)
    rollout = roll(obj, a_context(*THREE_ZONES, a_replica_set(obj, "r1"), *running("r1", n1=1, n2=1)))

    assert (True, RolloutEnd.COMPLETE) == (rollout.restarted, rollout.outcome)
    assert ({"a": 0, "b": 0, "c": 0},) == rollout.courses.likely.before


def test_skew_without_match_label_keys() -> None:
    """Old pods count too, so what is even on the way is uneven in the end; with the keys it is even.

    ``+ a`` makes 2 1 1, ``- a`` 1 1 1, and again; only the last pod finds b emptied.
    """
    context = a_context(*THREE_ZONES, *running("old", n1=1, n2=1, n3=1))
    counted_together = roll(a_deployment(3, a_constraint(), surge=1), context).courses
    counted_alone = roll(a_deployment(3, of_revisions(), surge=1), context).courses

    assert ["+ n1", "- old n1", "+ n1", "- old n2", "+ n2", "- old n3"] == story(counted_together.likely)
    assert ({"a": 2, "b": 1, "c": 0},) == counted_together.likely.after
    assert ((2,), True) == (counted_together.worst_skews, counted_together.exact)
    assert ((0,), True) == (counted_alone.worst_skews, counted_alone.exact)


def test_deadlock() -> None:
    """Two of three zones take pods: with maxSkew 1 no third pod fits, and no old one may go."""
    context = a_context(*CORDONED, *running("old", n1=1, n2=1))
    rollout = roll(a_deployment(2, a_constraint(), surge=1, unavailable=0), context)
    course = rollout.courses.likely

    assert (RolloutEnd.DEADLOCK, 2, ["+ pending"]) == (course.outcome, course.old, story(course))
    assert course.steps[0].decision is not None
    assert course.message.startswith(course.steps[0].decision.message)


def test_partial_deadlock() -> None:
    """With one unavailable allowed a pod goes, but where nothing fits in its place, no other."""
    nodes = [a_node("n1", "a"), a_node("n2", "b", unschedulable=True)]
    pods = running("old", n1=1, n2=1)
    rollout = roll(a_deployment(2, a_constraint(), unavailable=1, surge=0), a_context(*nodes, *pods))
    course = rollout.courses.likely

    assert ["- old n1", "+ n1", "- old n2", "+ pending"] == story(course)
    assert (RolloutEnd.PENDING, 0) == (course.outcome, course.old)


def test_pending_old_pods_go_first() -> None:
    """Pending pods of the old revision are deleted before any that is available."""
    rollout = roll(a_deployment(3, a_constraint(), unavailable=1, surge=0), a_context(*CORDONED))

    assert "- old pending" == story(rollout.courses.likely)[0]


def test_deadlock_that_depends_on_choices() -> None:
    """Which old pod goes first is open; if it is the one of the cordoned zone, nothing fits in its place.

    The first new pod goes to n3. Without the old pod of a: 1 1, and the next new pod may go there. Without
    the one of b: 2 0, and only b could take it.
    """
    small = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}}}
    nodes = [a_node("n1", "a") | small, a_node("n2", "b", unschedulable=True), a_node("n3", "a") | small]
    obj = a_deployment(2, a_constraint(), unavailable=0, surge=1)
    courses = roll(obj, a_context(*nodes, *running("old", n1=1, n2=1))).courses

    assert (True, RolloutEnd.COMPLETE) == (courses.exact, courses.likely.outcome)
    assert ["+ n3", "- old n1", "+ n1", "- old n2"] == story(courses.likely)
    assert RolloutEnd.DEADLOCK is courses.worst.outcome
    assert ["+ n3", "- old n2", "+ pending"] == story(courses.worst)


def test_the_old_template() -> None:
    """A Deployment is scaled with its old template first: those pods are bound where no new one would be.

    Of 6 pods at most 2 may be unavailable; 1 1 0 of the new template is all that fits then.
    """
    context = a_context(*CORDONED, *running("old", n1=2, n2=1))
    obj = a_deployment(6, a_constraint(), surge=0, unavailable=2)
    before = read_workload(a_deployment(3), context)
    known, unknown = (roll(obj, context, previous=previous) for previous in (before, None))

    assert (3, False) == (known.placed, known.assumed)
    assert 6 == sum(known.courses.likely.before[0].values())
    assert (True, 3) == (unknown.assumed, sum(unknown.courses.likely.before[0].values()))


def test_deletion_costs() -> None:
    """The known facts of the cluster's pods decide which is deleted first."""
    pods = running("old", n1=1, n2=1, n3=1)
    obj = a_deployment(3, unavailable=1, surge=0)
    known = known_at(pods, (-1, -2, -3))
    course = roll(obj, a_context(*THREE_ZONES, *pods), known=known).courses.likely

    assert ["- old n3", "- old n2", "- old n1"] == [line for line in story(course) if "old" in line]


def test_recorded_rollout() -> None:
    """Three new pods beside 2, 1 and 0 old ones go where a real scheduler put them."""
    scenario = recorded_placements()["rollout-without-matchlabelkeys"]
    workload = scenario["workload"]
    limits = {"strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}}
    obj = workload | {"spec": workload["spec"] | limits}
    context = a_context(*scenario["nodes"], *scenario["pods"])
    course = roll(obj, context).courses.likely
    real = Counter(entry["node"] for entry in scenario["outcome"]["placements"])

    assert scenario["outcome"]["placements"][0]["node"] == course.steps[0].node
    assert real == Counter(step.node for step in course.steps[:3])


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        pytest.param(a_workload("DaemonSet", "apps"), "kind", id="a kind without replicas"),
        pytest.param(a_workload("Rollout", "argoproj.io"), "kind", id="a kind of another controller"),
        pytest.param(a_deployment(MOST_ROLLED_OUT + 1), "spec.replicas", id="too many"),
        pytest.param(a_deployment(-1), "spec.replicas", id="a negative number"),
        pytest.param(
            a_workload() | {"spec": a_workload()["spec"] | {"replicas": "3"}}, "spec.replicas", id="text"
        ),
        pytest.param(a_deployment(3, surge="many"), "spec.strategy", id="no number"),
        pytest.param(a_deployment(3, unavailable=-1), "spec.strategy", id="a negative limit"),
        pytest.param(a_deployment(3, strategy={"type": "Canary"}), "spec.strategy", id="an unknown strategy"),
        pytest.param(
            a_deployment(3, surge="0%", unavailable=0),
            "spec.strategy.rollingUpdate.maxUnavailable",
            id="no pod may go and none may come",
        ),
    ],
)
def test_what_is_not_rolled_out(obj: dict[str, Any], field: str) -> None:
    """The error names the field."""
    with pytest.raises(PlacementError) as caught:
        roll(obj, a_context(*ONE_NODE))

    assert [field] == [str(error.path) for error in caught.value.errors]


@pytest.mark.parametrize("obj", [a_deployment(2), a_stateful_set(2)])
def test_cluster_stays(obj: dict[str, Any]) -> None:
    """Nothing of it changes the cluster."""
    context = a_context(*ONE_NODE, *running("old", n1=1))
    roll(obj, context)

    assert context.cluster is not None
    assert 1 == context.cluster.pod_count
