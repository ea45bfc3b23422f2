"""Edits of a manifest are evaluated within a bound."""

from __future__ import annotations

import pytest

from planning.simulation.suggestions.suggestion_edits import EditSearch
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.model.workload import Workload
from policies.pods.placement import evaluate_workload, read_workload
from tests.builders import a_workload
from tests.policies.scheduler.clusters import an_index

REPLICAS = FieldPath(("spec", "replicas"))
CONTEXT = AdmissionContext(policies=(), cluster=an_index([]))


def _search(most: int, *, may_go_on: bool = True) -> EditSearch[int | None]:
    def evaluate(workload: Workload) -> int | None:
        evaluate_workload(workload, CONTEXT)
        return workload.replicas

    workload = read_workload(a_workload(), CONTEXT, namespace="shop")
    return EditSearch(workload, CONTEXT, evaluate, most=most, may_go_on=lambda: may_go_on)


def test_what_is_evaluated_is_the_edited_manifest() -> None:
    """An edit changes a copy: the next one starts from the manifest again."""
    search = _search(2)

    assert [5, 7] == [search.attempt([Edit(REPLICAS, None, number)]) for number in (5, 7)]
    assert (2, True) == (search.tried, search.complete)


@pytest.mark.parametrize(
    ("most", "may_go_on"),
    [pytest.param(0, True, id="no more"), pytest.param(1, False, id="too dear")],
)
def test_the_bound(most: int, *, may_go_on: bool) -> None:
    """An untried edit is no failure: the search reports that it is not complete."""
    search = _search(most, may_go_on=may_go_on)

    assert search.attempt([Edit(REPLICAS, None, 5)]) is None
    assert (0, False) == (search.tried, search.complete)


def test_what_kubernetes_would_refuse() -> None:
    """It counts as tried, and helps nobody."""
    search = _search(1)
    constraints = FieldPath(("spec", "template", "spec", "topologySpreadConstraints"))

    assert search.attempt([Edit(constraints, None, [{"maxSkew": 0}])]) is None
    assert (1, True) == (search.tried, search.complete)
