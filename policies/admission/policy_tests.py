"""Admission of a sample: mutated, then validated, by the functions that the webhook calls."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from policies.admission.admission_rules import error_text
from policies.admission.decision import AdmissionVerdict
from policies.admission.injection import decide_mutation
from policies.admission.review_cost import ReviewLimits, unlimited
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.manifests.fields import text_member
from policies.manifests.json_patch import AddOperation, segments_of
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.model.workload_kinds import WorkloadKind

#: On a sample: the rules that it must break, separated by commas, and no others.
EXPECT_ANNOTATION = "evenkeel.dev/expect"


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The result for one sample."""

    verdict: AdmissionVerdict  #: Denied, else injected, else warned, else allowed.
    rules: tuple[str, ...]  #: The ids of the rules that it breaks, sorted.
    texts: tuple[str, ...]  #: What a person would read.
    #: The ids that it declares to break, sorted; None if it declares none.
    expected_rules: tuple[str, ...] | None

    def misses(self, expected: AdmissionVerdict) -> str:
        """Return the difference from what is expected; empty if there is none."""
        if self.verdict is not expected:
            return f"expected {expected}, got {self.verdict}"
        if self.expected_rules in (None, self.rules):
            return ""
        return f"expected the rules {_listed(self.expected_rules or ())}, got {_listed(self.rules)}"


def run_sample(
    obj: Mapping[str, Any], kind: WorkloadKind, context: AdmissionContext, *, today: date
) -> SampleResult:
    """Decide what becomes of an object that is created, with all the time that it takes."""
    read = partial(Workload.read, kind=kind, namespace=_namespace(obj), release=context.release, stored=False)
    workload = read(obj)
    given = decide_mutation(workload, context)
    if given.patch:
        workload = read(patched(obj, given.patch))
    decision = decide_validation(workload, None, context, ReviewLimits(unlimited, unlimited, today))
    verdict = decision.verdict
    if given.patch and verdict is not AdmissionVerdict.DENIED:
        verdict = AdmissionVerdict.INJECTED
    expected = workload.annotations.get(EXPECT_ANNOTATION)
    return SampleResult(
        verdict,
        tuple(sorted(decision.rules)),
        (
            *map(error_text, decision.errors),
            *decision.notes,
            *map(str, decision.warnings),
            *map(str, given.warnings),
        ),
        None if expected is None else tuple(sorted(filter(None, map(str.strip, expected.split(","))))),
    )


def patched(obj: Mapping[str, Any], patch: Iterable[AddOperation]) -> dict[str, Any]:
    """Return an object with the members that a patch adds, which are those of objects.

    >>> patched({"spec": {}}, [{"op": "add", "path": "/spec/a", "value": 1}])
    {'spec': {'a': 1}}
    """
    result = copy.deepcopy(dict(obj))
    for operation in patch:
        *way, name = segments_of(operation["path"])
        parent = result
        for segment in way:
            parent = parent[segment]
        parent[name] = operation["value"]
    return result


def _namespace(obj: Mapping[str, Any]) -> str:
    return text_member(obj.get("metadata"), "namespace") or DEFAULT_NAMESPACE


def _listed(rules: Iterable[str]) -> str:
    return ", ".join(rules) or "none"
