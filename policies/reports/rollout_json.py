"""A rollout or a scale as JSON: the trace, the domains on the way, how it can end, what would avoid that."""

from __future__ import annotations

from typing import Final

import orjson

from policies.placement.courses import Course
from policies.placement.replica_pods import RolloutStep
from policies.placement.rollout import Rollout
from policies.placement.rollout_suggestions import (
    RolloutSuggestion,
    RolloutSuggestions,
    SimulatedRollout,
)
from policies.placement.simulate import DomainChange
from policies.reports import rollout_answer
from policies.reports.explain_json import edit_fields
from policies.reports.rollout_words import NOT_IN_ROLLOUT, assumptions, strategy, suggestion_cost
from policies.reports.score_json import replicas_from, revision_fields
from policies.reports.simulate_answer import SimulateAnswer
from policies.reports.simulate_json import domain_fields, step_fields

#: Steps of a trace that are listed, half of them from its start; pending pods that are named.
MOST_TRACED: Final = 1_000


def render(simulated: SimulatedRollout) -> bytes:
    """Return a rollout as one line of JSON, without its end.

    The fields are those of a simulation, of the likely course; ``rollout`` has the rest.
    """
    rollout, suggestions = simulated.rollout, simulated.suggestions
    prepared, likely = rollout.prepared, rollout.courses.likely
    size = prepared.cluster.node_count
    decisions = (step.decision for step in likely.steps if step.decision is not None)
    changes = (
        DomainChange(
            pod=prepared.request.pod.name,
            constraint=position,
            applied=applied,
            before=likely.before[position],
            after=likely.after[position],
        )
        for position, applied in enumerate(prepared.request.constraints)
    )
    answer: SimulateAnswer = {
        "kubernetesVersion": str(prepared.version),
        "nodes": size,
        "nodesToFind": size,
        "revision": None if rollout.scaled else revision_fields(prepared),
        "replicas": {
            "wanted": rollout.replicas,
            "wantedFrom": None if rollout.scaled else replicas_from(prepared.workload),
            "placed": rollout.running,
        },
        "seed": rollout.seed,
        "steps": [step_fields(step) for step in decisions],
        "complete": True,
        "pending": simulated.pending,
        "domains": [domain_fields(change) for change in changes],
        "allDomains": True,
        "runs": None,
        "whatIf": None,
        "rollout": _rollout_fields(rollout, suggestions),
        "notModeled": list(prepared.request.pod.unmodeled),
        "notLookedAt": list(NOT_IN_ROLLOUT),
    }
    return orjson.dumps(answer)


def _rollout_fields(rollout: Rollout, suggestions: RolloutSuggestions) -> rollout_answer.RolloutFields:
    courses = rollout.courses
    return {
        "kind": "scale" if rollout.scaled else "rollout",
        "outcome": rollout.outcome,
        "strategy": strategy(rollout),
        "placedBefore": rollout.placed,
        "pendingBefore": len(rollout.waited_for),
        "likely": _course_fields(courses.likely),
        "worst": None if courses.worst is courses.likely else _course_fields(courses.worst),
        "peaks": [
            {"step": peak.step, "skew": peak.skew, "counts": dict(peak.counts)}
            for peak in courses.likely.peaks
        ],
        "worstSkews": list(courses.worst_skews),
        "worstPeaks": list(courses.worst_peaks),
        "courses": courses.count,
        "exact": courses.exact,
        "suggestions": [_suggestion_fields(each) for each in suggestions.found],
        "suggestionsTried": suggestions.tried,
        "allSuggestionsTried": suggestions.complete,
        "assumptions": list(assumptions(rollout)),
    }


def _course_fields(course: Course) -> rollout_answer.RolloutCourse:
    return {
        "outcome": course.outcome,
        "trace": _cut([_traced(number, step) for number, step in enumerate(course.steps, start=1)]),
        "steps": len(course.steps),
        "pending": list(course.pending[:MOST_TRACED]),
        "condition": course.message,
        "oldPods": course.old,
        "oldPending": course.old_pending,
        "after": [dict(counts) for counts in course.after],
        "skews": list(course.skews),
    }


def _traced(number: int, step: RolloutStep) -> rollout_answer.TracedStep:
    entry: rollout_answer.TracedStep = {
        "step": number,
        "action": step.action,
        "pod": step.pod,
        "new": step.new,
        "node": step.node,
    }
    if step.decision is not None and step.node is None:
        entry["message"] = step.decision.message
    return entry


def _cut(entries: list[rollout_answer.TracedStep]) -> list[rollout_answer.TracedStep]:
    half = MOST_TRACED // 2
    return entries if len(entries) <= MOST_TRACED else [*entries[:half], *entries[-half:]]


def _suggestion_fields(suggestion: RolloutSuggestion) -> rollout_answer.RolloutChange:
    return {
        "edits": [edit_fields(edit) for edit in suggestion.edits],
        "deletePods": list(suggestion.deleted),
        "cost": suggestion_cost(suggestion),
        "worstSkews": list(suggestion.worst_skews),
        "exact": suggestion.exact,
    }
