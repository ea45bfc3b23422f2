"""The variables of a policy, through which checks in CEL read the object under review.

Each variable holds a list: of the object as it would be stored, and of the object as it is stored now. Where
there is none the second is empty, which breaks no rule. No expression fails on any object: a step down is
taken only where there is a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policies.emit import constraint_lists
from policies.emit.cel import literal, record, strings
from policies.model.controller_labels import KNOWN_GROUPS, REVISION_HASH
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind

#: Labels of pods that are read: a quarter of a megabyte of them is no mistake that a rule is about.
MAX_LABELS = 256
#: A label's value where a controller makes it: no label has it.
_MADE = " "
#: The way to most templates.
_WAY = ("spec", "template")
_SELECTED_BY_JOBS = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UIDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_INDEX = "batch.kubernetes.io/job-completion-index"
_SET_LABELS = (REVISION_HASH, "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")


def template_variables(*, old: bool) -> dict[str, str]:
    """Return the variables that lead to the pod templates, by name, in the order of evaluation.

    Args:
        old: Whether what is stored now is read too.
    """
    before = ["request.operation == 'UPDATE' ? dyn(oldObject) : dyn({})"] if old else []
    return {
        "kind": "request.kind.group + '/' + request.kind.kind",
        "objects": f"[{', '.join(['dyn(object)', *before])}]",
        "templates": f"variables.objects.map(o, {_by_template(lambda way: descent('o', way))})",
        "specs": f"variables.templates.map(t, {step('t', 'spec')})",
        "labels": f"variables.templates.map(t, {_labels()})",
    }


def check_variables(is_valid: str) -> dict[str, str]:
    """Return the variables that checks read besides those of ``template_variables``.

    Args:
        is_valid: The expression that tests whether a constraint breaks no rule of the API.
    """
    fields = _workload()
    copied = {name: f"workload.{name}" for name in fields}
    valid = f"workload.constraints.filter(constraint, {is_valid})"
    path = _by_template(lambda way: literal(".".join((*way, "spec"))))
    return {
        "path": path,
        **constraint_lists.variables(),
        "parsed": f"[0, 1].map(n, {record(fields)})",
        "workloads": f"variables.parsed.map(workload, {record({**copied, 'valid': valid})})",
    }


def step(name: str, member: str) -> str:
    """Return the expression for a member of a map that is a map; an empty one where it is none."""
    return f"(has({name}.{member}) && type({name}.{member}) == map ? {name}.{member} : dyn({{}}))"


def descent(name: str, way: Iterable[str]) -> str:
    """Return the expression for what is at the end of a way of maps below a map."""
    text = f"[{name}]" + "".join(f".map(m, {step('m', member)})" for member in way)
    return f"{text}[0]" if text != f"[{name}]" else name


def is_kind(kinds: Iterable[WorkloadKind]) -> str:
    """Return the expression that tests whether the object is of one of some kinds."""
    return f"variables.kind in {literal([f'{kind.group}/{kind.kind}' for kind in kinds])}"


def _by_template(expression: Callable[[tuple[str, ...]], str]) -> str:
    """Return the expression that depends on where the object's kind has its pod template."""
    text = expression(_WAY)
    for way in dict.fromkeys(kind.template for kind in KNOWN_KINDS):
        if way != _WAY:
            kinds = (kind for kind in KNOWN_KINDS if kind.template == way)
            text = f"{is_kind(kinds)} ? {expression(way)} : {text}"
    return text


def _labels() -> str:
    """Labels, if all are texts; none where there are too many."""
    return (
        f"[{descent('t', ('metadata', 'labels'))}].map(m, m.size() <= {MAX_LABELS} "
        "&& m.all(key, type(m[key]) == string) ? m : dyn({}))[0]"
    )


def _workload() -> dict[str, str]:
    """Return the expressions of a workload's fields, by name."""
    scaled = [kind for kind in KNOWN_KINDS if kind.replicas is not None]
    selecting = [kind for kind in KNOWN_KINDS if kind.selector is not None]
    replicas = f"{is_kind(scaled)} && variables.objects[n].size() > 0 ? {_integer('replicas', absent=1)} : 0"
    completions = _integer("completions", absent=0)
    spec = "variables.specs[n]"
    return {
        "kind": "variables.kind",
        "group": "request.kind.group",
        "isPod": "variables.kind == '/Pod'",
        "isPatch": f"variables.labels[n].size() == 0 && ({is_kind(selecting)} || !has({spec}.containers))",
        "isOpen": (
            f"!(request.kind.group in {literal(KNOWN_GROUPS)}) "
            "|| variables.kind in ['/PodTemplate', 'argoproj.io/Rollout']"
        ),
        "path": "variables.path",
        "labels": "variables.labels[n]",
        "made": f"[variables.objects[n]].map(o, {_made()})[0]",
        "replicas": replicas,
        "pods": f"{is_kind(scaled)} ? ({replicas}) : {completions}",
        "antiAffinity": f"{descent(spec, ('affinity', 'podAntiAffinity'))}.size() > 0",
        "declares": (
            f"has({spec}.topologySpreadConstraints) && type({spec}.topologySpreadConstraints) != null_type "
            f"&& (type({spec}.topologySpreadConstraints) != list || variables.lists[n].size() > 0)"
        ),
        "isTooLarge": "variables.tooLarge[n]",
        "mistyped": "variables.mistyped[n]",
        "constraints": "variables.constraints[n]",
    }


def _integer(member: str, *, absent: int) -> str:
    """A number of the object's spec; 0 for one of the wrong type."""
    return (
        f"[{step('variables.objects[n]', 'spec')}].map(s, !has(s.{member}) || type(s.{member}) == null_type "
        f"? {absent} : type(s.{member}) == int ? int(s.{member}) : 0)[0]"
    )


def _made() -> str:
    """The labels that the controller of an object ``o`` adds to its pods, see ``controller_labels``."""
    name = f"(has(o.metadata) && has(o.metadata.name) ? o.metadata.name : {literal(_MADE)})"
    text = "dyn({})"
    kinds = {
        "batch/Job": _of_job(descent("o", ("spec",)), name),
        "batch/CronJob": _of_job(descent("o", ("spec", "jobTemplate", "spec")), literal(_MADE)),
        "apps/StatefulSet": _unknown(_SET_LABELS),
        "apps.kruise.io/StatefulSet": _unknown(_SET_LABELS),
        "apps/DaemonSet": _unknown([REVISION_HASH]),
        "apps.kruise.io/DaemonSet": _unknown([REVISION_HASH]),
    }
    kinds |= {
        f"{kind.group}/{kind.kind}": _unknown([kind.revision_label])
        for kind in KNOWN_KINDS
        if kind.revision_label is not None
    }
    for kind, labels in kinds.items():
        text = f"variables.kind == '{kind}' ? {labels} : {text}"
    return text


def _unknown(keys: Iterable[str]) -> str:
    return f"dyn({strings(dict.fromkeys(keys, _MADE))})"


def _of_job(spec: str, name: str) -> str:
    own = [f"'{key}': dyn({name})" for key in _SELECTED_BY_JOBS] + [
        f"'{key}': dyn({literal(_MADE)})" for key in _JOB_UIDS
    ]
    index = [f"'{_JOB_INDEX}': dyn({literal(_MADE)})"]
    alone, indexed, both = (f"dyn({{{', '.join(labels)}}})" for labels in (own, index, own + index))
    return (
        f"[{spec}].map(s, [has(s.manualSelector) && s.manualSelector == dyn(true), "
        "has(s.completionMode) && s.completionMode == dyn('Indexed')])"
        f".map(f, f[0] ? (f[1] ? {indexed} : dyn({{}})) : f[1] ? {both} : {alone})[0]"
    )
