"""The rules of the API server in CEL: they decide which constraints are valid."""

from __future__ import annotations

from collections.abc import Mapping

from policies.emit.cel import LIMITS_TEXT, Cel, CelCheck, CelContext, NoCel, Over, literal
from policies.model.api_rules import ApiRule
from policies.model.constraint import CONSTRAINT_FIELDS
from policies.model.labels import (
    KEY_LENGTH,
    NAME_LENGTH,
    REQUIREMENT_FIELDS,
    SELECTOR_FIELDS,
    SUBDOMAIN,
    SUBDOMAIN_LENGTH,
)
from policies.model.version import KNOWN_VERSION

_NAME = rf"([A-Za-z0-9]([-A-Za-z0-9_.]{{0,{NAME_LENGTH - 2}}}[A-Za-z0-9])?)"
_KEY = literal(f"^({SUBDOMAIN.pattern}/)?{_NAME}$")
_VALUE = literal(f"^{_NAME}?$")
#: That a prefix is not too long; the pattern of the key counts only the characters of the name.
_LENGTHS = literal(f"^([^/]{{1,{SUBDOMAIN_LENGTH}}}/)?[^/]+$")


def is_label_key(name: str) -> str:
    """Return the expression that tests whether a text is a label key, see ``policies/model/labels``.

    Lengths come first: the cost of a pattern grows with the text that it is matched with.
    """
    short = f"{name}.size() <= {NAME_LENGTH}"
    return (
        f"({name}.size() <= {KEY_LENGTH} && {name}.matches({_KEY}) "
        f"&& ({short} || {name}.matches({_LENGTHS})))"
    )


def is_label_value(name: str) -> str:
    """Return the expression that tests whether a text is a label value."""
    return f"({name}.size() <= {NAME_LENGTH} && {name}.matches({_VALUE}))"


_INVALID_LABELS = (
    f"constraint.matchLabels.exists(key, !{is_label_key('key')} "
    "|| (type(constraint.matchLabels[key]) == string "
    f"&& !{is_label_value('constraint.matchLabels[key]')}))"
)
_INVALID_REQUIREMENTS = (
    f"constraint.matchExpressions.exists(e, !{is_label_key('e.key')} "
    "|| !(e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist']) "
    "|| (e.operator in ['In', 'NotIn']) == (e.values.size() == 0) "
    f"|| e.values.exists(value, !{is_label_value('value')}))"
)
_INVALID_KEYS = f"constraint.matchLabelKeys.filter(key, !{is_label_key('key')})"
#: The API server's own merge into the selector of a pod is one In requirement with the pod's value.
_IN_BOTH = (
    "constraint.matchLabelKeys.filter(key, key in constraint.matchLabels "
    "|| constraint.matchExpressions.exists(e, e.key == key && !(workload.isPod && e.operator == 'In' "
    "&& e.values.size() == 1 && key in workload.labels && e.values[0] == workload.labels[key])) "
    "|| constraint.matchExpressions.filter(e, e.key == key).size() > 1)"
)


def _unknown_field(context: CelContext) -> CelCheck | NoCel:
    """Return the check for a release; one newer than those that are known may have brought a field."""
    if context.version > KNOWN_VERSION:
        return NoCel(f"Kubernetes {context.version} may have fields that are not known here")
    known = [literal(list(names)) for names in (CONSTRAINT_FIELDS, SELECTOR_FIELDS, REQUIREMENT_FIELDS)]
    unknown = (
        f"(constraint.raw.filter(name, !(name in {known[0]})) "
        f"+ constraint.selector.filter(name, !(name in {known[1]})).map(name, 'labelSelector.' + name) "
        f"+ constraint.matchExpressions.filter(e, e.raw.exists(name, !(name in {known[2]})))"
        ".map(e, 'labelSelector.matchExpressions'))"
    )
    return CelCheck(
        broken=f"{unknown}.size() > 0",
        message=f"': unknown field \"' + {unknown}.join('\", \"') + '\"'",
        over=Over.CONSTRAINTS,
        lacks="a list of constraints in a wrong place is not found",
    )


#: The check of each rule.
API_CHECKS: Mapping[str, Cel] = {
    ApiRule.WRONG_TYPE: CelCheck(
        broken="workload.mistyped.size() > 0",
        message="'.topologySpreadConstraints' + workload.mistyped.join('; .topologySpreadConstraints')",
        over=Over.WORKLOAD,
        lacks="only constraints are looked at; one with a wrong type, or null, is reported for nothing else",
    ),
    ApiRule.UNKNOWN_FIELD: _unknown_field,
    ApiRule.TOO_LARGE_TO_CHECK: CelCheck(
        broken="workload.isTooLarge",
        message=(
            f"'.topologySpreadConstraints: Too many: a policy of the API server reads at most {LIMITS_TEXT}'"
        ),
        over=Over.WORKLOAD,
        lacks=f"the limits are lower: at most {LIMITS_TEXT}",
    ),
    ApiRule.MAX_SKEW_NOT_POSITIVE: CelCheck(
        broken="constraint.maxSkew < 1",
        message="'.maxSkew: Invalid value: ' + string(constraint.maxSkew) + ': must be greater than zero'",
        over=Over.CONSTRAINTS,
    ),
    ApiRule.TOPOLOGY_KEY_MISSING: CelCheck(
        broken="constraint.topologyKey == ''",
        message="'.topologyKey: Required value: can not be empty'",
        over=Over.CONSTRAINTS,
    ),
    ApiRule.WHEN_UNSATISFIABLE_UNKNOWN: CelCheck(
        broken="!(constraint.whenUnsatisfiable in ['DoNotSchedule', 'ScheduleAnyway'])",
        message=(
            "'.whenUnsatisfiable: Unsupported value: \"' + constraint.whenUnsatisfiable + "
            '\'": supported values: "DoNotSchedule", "ScheduleAnyway"\''
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.CONSTRAINT_REPEATED: CelCheck(
        broken=(
            "workload.constraints.exists(other, other.index > constraint.index "
            "&& other.topologyKey == constraint.topologyKey "
            "&& other.whenUnsatisfiable == constraint.whenUnsatisfiable)"
        ),
        message=(
            "'.{topologyKey, whenUnsatisfiable}: Duplicate value: \"{' + constraint.topologyKey + ', ' "
            "+ constraint.whenUnsatisfiable + '}\"'"
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.MIN_DOMAINS_NOT_POSITIVE: CelCheck(
        broken="constraint.minDomains < 1",
        message=(
            "'.minDomains: Invalid value: ' + string(constraint.minDomains) + ': must be greater than zero'"
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY: CelCheck(
        broken="constraint.hasMinDomains && constraint.whenUnsatisfiable != 'DoNotSchedule'",
        message=(
            "'.minDomains: Invalid value: ' + string(constraint.minDomains) "
            "+ ': can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ' "
            "+ constraint.whenUnsatisfiable"
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.NODE_INCLUSION_POLICY_UNKNOWN: CelCheck(
        broken=(
            "[constraint.nodeAffinityPolicy, constraint.nodeTaintsPolicy]"
            ".exists(policy, !(policy in ['Honor', 'Ignore']))"
        ),
        message=(
            "(constraint.nodeAffinityPolicy in ['Honor', 'Ignore'] "
            "? '.nodeTaintsPolicy: Unsupported value: \"' + constraint.nodeTaintsPolicy "
            ": '.nodeAffinityPolicy: Unsupported value: \"' + constraint.nodeAffinityPolicy) "
            '+ \'": supported values: "Honor", "Ignore"\''
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR: CelCheck(
        broken="!constraint.hasSelector && constraint.matchLabelKeys.size() > 0",
        message="'.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set'",
        over=Over.CONSTRAINTS,
    ),
    ApiRule.MATCH_LABEL_KEY_INVALID: CelCheck(
        broken=f"constraint.hasSelector && {_INVALID_KEYS}.size() > 0",
        message=(
            f"'.matchLabelKeys: Invalid value: \"' + {_INVALID_KEYS}.join('\", \"') "
            "+ '\": must be a label key'"
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.MATCH_LABEL_KEY_IN_SELECTOR: CelCheck(
        broken=f"{_IN_BOTH}.size() > 0",
        message=(
            f"'.matchLabelKeys: Invalid value: \"' + {_IN_BOTH}.join('\", \"') "
            "+ '\": exists in both matchLabelKeys and labelSelector' "
            "+ (workload.isPod ? '' : ': Kubernetes 1.34+ rejects every pod of this workload')"
        ),
        over=Over.CONSTRAINTS,
    ),
    ApiRule.LABEL_SELECTOR_INVALID: CelCheck(
        broken=f"{_INVALID_LABELS} || {_INVALID_REQUIREMENTS}",
        message=(
            f"({_INVALID_LABELS} ? '.labelSelector.matchLabels: Invalid value: must be keys and values of "
            "labels' : '.labelSelector.matchExpressions: Invalid value: must have a label key, one of the "
            "operators In, NotIn, Exists and DoesNotExist, and values of labels for the first two only')"
        ),
        over=Over.CONSTRAINTS,
    ),
}
