"""The warnings of an update that leaves something of injected constraints."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.admission.admission_rules import rules_at_admission
from policies.admission.decision import AdmissionVerdict
from policies.admission.injection import decide_mutation, remnants
from policies.admission.review_cost import ReviewLimits, unlimited
from policies.admission.validation import decide_validation
from policies.manifests.fields import FieldPath
from policies.manifests.json_patch import AddOperation
from policies.model.controller_labels import controller_label_keys
from policies.model.pod_template import LAST_APPLIED
from policies.model.workload import Workload
from policies.model.workload_kinds import KNOWN_KINDS
from tests.builders import a_constraint, a_node, a_pod, a_policy, a_workload, kind_of
from tests.examples import examples
from tests.policies.config.contexts import HOST as HOST_ENTRY
from tests.policies.config.contexts import ZONE, a_context, defaults

HOST = "kubernetes.io/hostname"
#: The injected constraint, the user's own for the same key, and kubectl's merge of the two.
INJECTED = a_constraint(
    whenUnsatisfiable="ScheduleAnyway", nodeTaintsPolicy="Honor", matchLabelKeys=["pod-template-hash"]
)
OWN = a_constraint()
MERGED = INJECTED | OWN
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
BY_POLICY = {"evenkeel.dev/injected-by": "soft-spread"}


def a_deployment(constraints: Any, *, applied: Any = None, **annotations: str) -> dict[str, Any]:
    spec = {} if constraints is None else {"topologySpreadConstraints": constraints}
    notes = dict(annotations)
    if applied is not None:
        notes[LAST_APPLIED] = applied if isinstance(applied, str) else json.dumps(a_deployment(applied))
    return a_workload(spec=spec, annotations=notes)


def read(obj: dict[str, Any]) -> Workload:
    return Workload.read(obj, kind_of(obj["kind"], obj["apiVersion"].rpartition("/")[0]), "shop", user="jane")


def said(now: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    return [remark.text for remark in remnants(read(now), None if before is None else read(before))]


KEPT = (
    "keeps matchLabelKeys and nodeTaintsPolicy of policy soft-spread, "
    "with whose constraint yours was merged: write them, or null"
)
GONE = "no constraint is left of those that policy soft-spread added; delete the annotation"
STORED = a_deployment([INJECTED], **BY_POLICY)


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        pytest.param(a_deployment([MERGED], applied=[OWN], **BY_POLICY), STORED, [KEPT], id="merged"),
        pytest.param(a_deployment([MERGED], **BY_POLICY), STORED, [KEPT], id="nobody knows what was applied"),
        pytest.param(a_deployment([MERGED], applied="{", **BY_POLICY), STORED, [KEPT], id="applied rubbish"),
        pytest.param(a_deployment([MERGED], applied="[]", **BY_POLICY), STORED, [KEPT], id="applied a list"),
        pytest.param(
            a_deployment([MERGED], applied=[OWN | {"matchLabelKeys": ["pod-template-hash"]}], **BY_POLICY),
            STORED,
            [KEPT.replace("matchLabelKeys and ", "")],
            id="one of two was written",
        ),
        pytest.param(
            a_deployment([MERGED], applied=[MERGED], **BY_POLICY), STORED, [], id="both were written"
        ),
        pytest.param(a_deployment([OWN], applied=[OWN], **BY_POLICY), STORED, [], id="replaced"),
        pytest.param(
            a_deployment([INJECTED, a_constraint(topologyKey=HOST)], **BY_POLICY),
            STORED,
            [],
            id="one beside it",
        ),
        pytest.param(a_deployment([INJECTED], **BY_POLICY), STORED, [], id="nothing changed"),
        pytest.param(a_deployment([INJECTED, MERGED], **BY_POLICY), STORED, [], id="one of the same key"),
        pytest.param(a_deployment(None, **BY_POLICY), STORED, [GONE], id="all are gone"),
        pytest.param(a_deployment([], **BY_POLICY), STORED, [GONE], id="an empty list"),
        pytest.param(a_deployment(None, **BY_POLICY), a_deployment(None, **BY_POLICY), [], id="gone before"),
        pytest.param(a_deployment(None), STORED, [], id="the annotation is gone, too"),
        pytest.param(a_deployment([MERGED], **BY_POLICY), None, [], id="created"),
        pytest.param(
            a_pod(annotations=BY_POLICY),
            a_pod(annotations=BY_POLICY, spec={"topologySpreadConstraints": [INJECTED]}),
            [],
            id="a pod",
        ),
        pytest.param(
            a_deployment([7, MERGED], **BY_POLICY), a_deployment("x", **BY_POLICY), [], id="of wrong types"
        ),
    ],
)
def test_what_is_said(now: dict[str, Any], before: dict[str, Any] | None, expected: list[str]) -> None:
    """An author hears of fields that came with a merge, and of an annotation that says what is so no more."""
    assert expected == said(now, before)


def test_it_is_a_warning() -> None:
    """It names the constraint, and refuses nothing."""
    now = read(a_deployment([MERGED], applied=[OWN], **BY_POLICY))
    decision = decide_validation(now, read(STORED), a_context())

    assert AdmissionVerdict.WARNED is decision.verdict
    [warning] = decision.warnings
    path = FieldPath(("spec", "template", "spec", "topologySpreadConstraints", 0))
    assert ("evenkeel.dev/injected-by", (path,)) == (warning.topic, warning.paths)
    assert "matchLabelKeys and" in warning.text


#: Labels of the pods, and keys that a selector asks for: what controllers generate, and what people write.
_KEYS = sorted({"app", "tier"}.union(*map(controller_label_keys, KNOWN_KINDS)))
_LABELS = st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(("web", "0", "")), min_size=1, max_size=3)
_EXPRESSIONS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(_KEYS),
        "operator": st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
        "values": st.lists(st.sampled_from(("web", "0", "")), max_size=2),
    }
)
#: Every rule that may run on a workload denies for what it finds.
_STRICT = {rule.id: {"severity": "error"} for rule in rules_at_admission()}


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """Draw objects without constraints, whose selectors may ask for anything."""
    kind, labels = draw(st.sampled_from([kind for kind in KNOWN_KINDS if kind.spreads])), draw(_LABELS)
    if kind.is_pod:
        return a_pod(labels=labels)
    selector: dict[str, Any] = {key: labels[key] for key in draw(st.sets(st.sampled_from(sorted(labels))))}
    if not kind.selector_is_map:
        selector = {"matchLabels": selector, "matchExpressions": draw(st.lists(_EXPRESSIONS, max_size=2))}
    obj = a_workload(kind.kind, kind.group, labels=labels, selector=selector)
    if kind.replicas:
        obj["spec"]["replicas"] = draw(st.sampled_from((0, 1, 2, 5)))
    return obj


def patched(obj: dict[str, Any], patch: Sequence[AddOperation]) -> dict[str, Any]:
    """Return an object as the API server patches it."""
    made = copy.deepcopy(obj)
    for operation in patch:
        *way, last = (part.replace("~1", "/") for part in operation["path"].split("/")[1:])
        reduce(getitem, way, made)[last] = operation["value"]
    return made


@examples(150)
@given(obj=objects(), action=st.sampled_from(("DoNotSchedule", "ScheduleAnyway")), known=st.booleans())
def test_what_is_injected_breaks_no_rule(obj: dict[str, Any], action: str, *, known: bool) -> None:
    """No object is denied, or warned of, for what the webhook itself put into it."""
    constraints = [{**entry, "whenUnsatisfiable": action} for entry in (ZONE, HOST_ENTRY)]
    cluster = [SERVICE, *(a_node(zone, zone) for zone in "ab")] if known else None
    context = a_context(a_policy(defaults=defaults("both", constraints), rules=_STRICT), cluster=cluster)
    patch = decide_mutation(read(obj), context).patch
    before, after = (
        decide_validation(read(each), None, context, ReviewLimits(rules=unlimited))
        for each in (obj, patched(obj, patch))
    )

    assert set(after.rules) <= set(before.rules)
