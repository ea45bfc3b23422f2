"""SpreadPolicy documents as ValidatingAdmissionPolicies: one for each enforcement that has rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date
from typing import Any, NamedTuple

from policies.config.enforcement import IGNORE_ANNOTATION, NO_SETTINGS, STRICTNESS, enforcement_of
from policies.config.spread_policy import AnnotationExemptions, Enforcement, PolicyException, SpreadPolicy
from policies.emit.cel import CelCheck, CelContext, NoCel, Over, literal
from policies.emit.emitted import (
    LeftOut,
    kinds_in_scope,
    left_out_of_scope,
    match_conditions,
    match_constraints,
    names_match,
    object_name,
    with_binding,
)
from policies.emit.rule_checks import check_of
from policies.emit.variables import check_variables, descent, template_variables
from policies.manifests.errors import UsageError
from policies.manifests.findings import Severity
from policies.model.version import KubernetesVersion
from policies.model.workload_kinds import BUILT_IN_GROUPS
from policies.rules.base import AtAdmission, Rule, all_rules

#: The first release with version v1 of the API.
SINCE = KubernetesVersion(1, 30)
KIND = "ValidatingAdmissionPolicy"
#: What each enforcement is to the API server.
ACTIONS = {Enforcement.DENY: "Deny", Enforcement.WARN: "Warn", Enforcement.AUDIT: "Audit"}
#: Characters of the annotation with exemptions that are read: what a pattern costs grows with them.
MAX_IGNORED = 8192


class _Validation(NamedTuple):
    """A rule's check as it is for one enforcement; ``guard`` is where it is not, empty for nowhere."""

    rule: Rule
    check: CelCheck
    guard: str


def validating_policies(
    policy: SpreadPolicy, version: KubernetesVersion, today: date, trusted: Collection[str]
) -> tuple[list[dict[str, Any]], list[LeftOut]]:
    """Return a SpreadPolicy as objects, and what they leave out.

    Args:
        policy: The policy.
        version: The release of the API server.
        today: The day; an exception whose last day is over is not emitted.
        trusted: The users that are believed of owners of custom kinds.

    Raises:
        UsageError: The release is too old.
    """
    if version < SINCE:
        raise UsageError(f"Kubernetes {version} has no {KIND} of version v1: {SINCE} or newer has")
    kinds = kinds_in_scope(policy.scope)
    left_out = list(left_out_of_scope(policy, kinds))
    checks, missing = _checks(policy, version)
    left_out += missing
    left_out += _left_out_of_settings(policy, today)
    if not kinds:
        return [], left_out
    variables = [{"name": name, "expression": expression} for name, expression in _variables(checks).items()]
    objects: list[dict[str, Any]] = []
    for enforcement in STRICTNESS:
        found = list(_validations(policy, checks, enforcement))
        if not found:
            continue
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": match_constraints(policy.scope, kinds, ("CREATE", "UPDATE")),
            "matchConditions": match_conditions(policy.scope, trusted),
            "variables": variables,
            "validations": [_validation(entry, policy, enforcement, today) for entry in found],
        }
        name = object_name(policy.name, enforcement)
        objects += with_binding(KIND, "v1", name, spec, {"validationActions": [ACTIONS[enforcement]]})
    return objects, left_out


def _checks(policy: SpreadPolicy, version: KubernetesVersion) -> tuple[dict[Rule, CelCheck], list[LeftOut]]:
    """Return the rules of a policy that are in CEL, and what they lack, or why others are not."""
    keys = frozenset(policy.topology.domains)
    checks: dict[Rule, CelCheck] = {}
    left_out: list[LeftOut] = []
    for rule in _rules(policy):
        params = rule.params_of(policy.rules.get(rule.id, NO_SETTINGS).params)
        check = check_of(rule, CelContext(version=version, params=params, topology_keys=keys))
        if isinstance(check, NoCel):
            left_out.append(LeftOut(policy.name, rule.id, check.reason))
            continue
        checks[rule] = check
        if check.lacks:
            left_out.append(LeftOut(policy.name, rule.id, check.lacks, partly=True))
    return checks, left_out


def _rules(policy: SpreadPolicy) -> Iterator[Rule]:
    """Yield the rules that the webhook would run on a workload."""
    for rule in all_rules().values():
        if not rule.opt_in or rule.id in policy.rules:
            yield rule


def _variables(checks: dict[Rule, CelCheck]) -> dict[str, str]:
    api = [
        check.broken for rule, check in checks.items() if rule.is_api_rule and check.over is Over.CONSTRAINTS
    ]
    texts = ("annotations", IGNORE_ANNOTATION)
    own, template = (
        f"[{descent(of, ('metadata', texts[0]))}].map(m, {literal(texts[1])} in m "
        f"&& m[{literal(texts[1])}].size() <= {MAX_IGNORED} ? m[{literal(texts[1])}] : '')[0]"
        for of in ("object", "variables.templates[0]")
    )
    return {
        **template_variables(old=True),
        **check_variables(" && ".join(f"!({broken})" for broken in api) or "true"),
        "isCertain": f"request.kind.group in {literal(BUILT_IN_GROUPS)}",
        "ignored": f"{own} + '\\n' + {template}",
    }


def _validations(
    policy: SpreadPolicy, checks: dict[Rule, CelCheck], enforcement: Enforcement
) -> Iterator[_Validation]:
    """Yield the checks whose findings have an enforcement, see ``admission_rules``."""
    for rule, check in checks.items():
        settings = policy.rules.get(rule.id, NO_SETTINGS)
        found = {}
        for certain in (True, False):
            severity = rule.severity
            if severity is Severity.ERROR and not (
                rule.is_api_rule or (certain and rule.at_admission is AtAdmission.DENY)
            ):
                severity = Severity.WARNING
            severity = settings.severity or severity
            found[certain] = enforcement_of(severity, settings, policy.enforcement) is enforcement
        if found[True] or found[False]:
            guard = (
                ""
                if found[True] == found[False]
                else "!variables.isCertain"
                if found[True]
                else "variables.isCertain"
            )
            yield _Validation(rule, check, guard)


def _validation(
    entry: _Validation, policy: SpreadPolicy, enforcement: Enforcement, today: date
) -> dict[str, str]:
    """Return a check as the API has it: an update may break a rule as often as the stored object does."""
    rule, check, guard = entry
    exempt = [guard] if guard else []
    exempt += [_covers(exception) for exception in _exceptions(policy, rule, today)]
    if _may_ignore(policy, rule, enforcement):
        pattern = literal(rf"(?m)^[ \t]*{rule.id}[ \t]*:[ \t]*[^ \t\n(]")
        exempt.append(f"variables.ignored.matches({pattern})")
    broken, listed = check.broken, f"workload.{check.over}"
    name = literal(f"{rule.id}: ")
    if check.over is Over.WORKLOAD:
        number = f"{broken} ? 1 : 0"
        text = f"{name} + workload.path + {check.message}"
    else:
        text = (
            f"{listed}.filter(constraint, {broken})"
            f".map(constraint, {name} + constraint.path + {check.message}).join('; ')"
        )
        number = f"{listed}.filter(constraint, {broken}).size()"
    judged = f"[variables.workloads.map(workload, {number})].exists(n, n[0] <= n[1])"
    return {
        "expression": " || ".join([*exempt, judged]),
        "message": f"{rule.id}: {rule.summary}",
        "messageExpression": f"[variables.workloads[0]].map(workload, {text})[0]",
        "reason": "Invalid",
    }


def _exceptions(policy: SpreadPolicy, rule: Rule, today: date) -> Iterator[PolicyException]:
    for exception in policy.exceptions:
        if rule.id in exception.rules and (exception.until is None or today <= exception.until):
            yield exception


def _covers(exception: PolicyException) -> str:
    """Return the expression that tests whether an exception is for the object."""
    parts = []
    if exception.namespaces:
        parts.append(names_match("request.namespace", exception.namespaces))
    if exception.kinds:
        parts.append(f"request.kind.kind in {literal(exception.kinds)}")
    if exception.names:
        own = (
            "[has(object.metadata.name) && object.metadata.name != '' ? object.metadata.name "
            ": has(object.metadata.generateName) ? object.metadata.generateName : '']"
        )
        parts.append(f"{own}.exists(name, name != '' && {names_match('name', exception.names)})")
    return f"({' && '.join(parts) or 'true'})"


def _may_ignore(policy: SpreadPolicy, rule: Rule, enforcement: Enforcement) -> bool:
    settings = policy.rules.get(rule.id, NO_SETTINGS)
    allowed = settings.annotation_exemptions or policy.annotation_exemptions
    return enforcement is not Enforcement.DENY or allowed is AnnotationExemptions.ALLOWED


def _left_out_of_settings(policy: SpreadPolicy, today: date) -> Iterator[LeftOut]:
    """Yield the other parts of a document that are not enforced as they are written."""
    for position, exception in enumerate(policy.exceptions):
        subject = f"exceptions[{position}].until"
        if exception.until is not None and exception.until < today:
            yield LeftOut(policy.name, subject, f"ended on {exception.until}: the exception is not emitted")
        elif exception.until is not None:
            reason = (
                f"CEL knows no date: emit the policy again after {exception.until}, or the exception stays"
            )
            yield LeftOut(policy.name, subject, reason, partly=True)
    reason = "the last day (until …) of an exemption by annotation does not end it: CEL knows no date"
    yield LeftOut(policy.name, IGNORE_ANNOTATION, reason, partly=True)
    if policy.defaults is not None:
        yield LeftOut(policy.name, "defaults", "a validating policy injects nothing: --as map emits them")
