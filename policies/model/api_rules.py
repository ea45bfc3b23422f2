"""The ids of the rules that the API server and kube-scheduler themselves hold constraints to.

One is ours: the API server has no limit but that of a request.
"""

from __future__ import annotations

from enum import StrEnum

from policies.manifests.fields import UNKNOWN_FIELD, WRONG_TYPE


class ApiRule(StrEnum):
    """The id of a rule names the problem; exemptions, updates and metrics refer to it."""

    WRONG_TYPE = WRONG_TYPE
    UNKNOWN_FIELD = UNKNOWN_FIELD
    TOO_LARGE_TO_CHECK = "too-large-to-check"
    MAX_SKEW_NOT_POSITIVE = "max-skew-not-positive"
    TOPOLOGY_KEY_MISSING = "topology-key-missing"
    TOPOLOGY_KEY_INVALID = "topology-key-invalid"
    WHEN_UNSATISFIABLE_UNKNOWN = "when-unsatisfiable-unknown"
    CONSTRAINT_REPEATED = "constraint-repeated"
    MIN_DOMAINS_NOT_POSITIVE = "min-domains-not-positive"
    MIN_DOMAINS_WITH_SCHEDULE_ANYWAY = "min-domains-with-schedule-anyway"
    NODE_INCLUSION_POLICY_UNKNOWN = "node-inclusion-policy-unknown"
    MATCH_LABEL_KEYS_WITHOUT_SELECTOR = "match-label-keys-without-selector"
    MATCH_LABEL_KEY_INVALID = "match-label-key-invalid"
    MATCH_LABEL_KEY_IN_SELECTOR = "match-label-key-in-selector"
    LABEL_SELECTOR_INVALID = "label-selector-invalid"
    DEFAULTING_TYPE_UNKNOWN = "defaulting-type-unknown"
    SYSTEM_DEFAULTS_WITH_LIST = "system-defaults-with-list"
    SELECTOR_IN_DEFAULT = "selector-in-default"


#: Every id, to test any string against.
API_RULES = frozenset(map(str, ApiRule))
