"""TopologySpreadConstraint as a value, with the API's defaults applied here and nowhere else.

Since 1.34 the API server appends ``{key, In, [the pod's value]}`` to the selector of a pod that carries a
label of ``matchLabelKeys``, and then refuses a key that occurs twice (``validateLabelKeysWithSelector``,
``pkg/apis/core/validation/validation.go``). A workload's template is never merged, so the same mistake there
is accepted and each of its pods is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Annotated, Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, field_names, invalid_value, member, object_items
from policies.manifests.wire import INTERNAL, DocumentFields, Keywords
from policies.model.api_rules import ApiRule
from policies.model.labels import LabelSelector, Operator


class WhenUnsatisfiable(StrEnum):
    """The scheduler's treatment of a pod that would break the constraint."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class NodeInclusionPolicy(StrEnum):
    """Whether a node's affinity or taints decide if it takes part."""

    HONOR = "Honor"
    IGNORE = "Ignore"


#: The largest value of the API's int32 fields.
INT32_MAX: Final = 2**31 - 1
#: The values of ``whenUnsatisfiable``, to test any string against.
ACTIONS: tuple[str, ...] = tuple(sorted(map(str, WhenUnsatisfiable)))
#: The values of ``nodeAffinityPolicy`` and ``nodeTaintsPolicy``, to test any string against.
INCLUSION_POLICIES: tuple[str, ...] = tuple(sorted(NodeInclusionPolicy))
#: Every field of the API's TopologySpreadConstraint, Kubernetes 1.36, in the API's order.
CONSTRAINT_FIELDS = field_names(
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)


class ReleaseFields(NamedTuple):
    """A release's treatment of the fields of constraints, and of those of pod affinity."""

    #: Whether a field that is not known here is an error: a newer release may have brought it.
    strict: bool = True
    dropped: frozenset[str] = frozenset()  #: The fields of constraints that it drops.
    drops_of_pods: bool = False  #: Whether it drops fields of pods.
    #: Whether it knows ``matchLabelKeys`` and ``mismatchLabelKeys`` of pod affinity.
    affinity_label_keys: bool = True
    checks_selectors: bool = True  #: Whether its API server refuses a selector that is not valid.


#: What the newest known release does.
EVERY_FIELD = ReleaseFields()
#: What an optional field means where a release drops it, by the attribute.
_WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "minDomains": {"min_domains": 1},
    "nodeAffinityPolicy": {"node_affinity_policy": NodeInclusionPolicy.HONOR},
    "nodeTaintsPolicy": {"node_taints_policy": NodeInclusionPolicy.IGNORE},
    "matchLabelKeys": {"match_label_keys": ()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint(DocumentFields):
    """One entry of ``topologySpreadConstraints``."""

    #: How many more matching pods a domain may have than the global minimum.
    max_skew: Annotated[int, Keywords(minimum=1, maximum=INT32_MAX, examples=[1])]
    #: The node label whose values are the domains.
    topology_key: Annotated[
        str, Keywords(minLength=1, examples=["topology.kubernetes.io/zone", "kubernetes.io/hostname"])
    ]
    when_unsatisfiable: WhenUnsatisfiable  #: Hard (DoNotSchedule) or soft (ScheduleAnyway).
    selector: Annotated[LabelSelector | None, INTERNAL] = None  #: Which pods count; None counts none.
    #: With fewer eligible domains than this the global minimum is 0.
    min_domains: Annotated[int, Keywords(minimum=1, maximum=INT32_MAX)] = 1
    #: Whether nodes outside the pod's node affinity are left out.
    node_affinity_policy: NodeInclusionPolicy = NodeInclusionPolicy.HONOR
    #: Whether nodes with untolerated taints are left out.
    node_taints_policy: NodeInclusionPolicy = NodeInclusionPolicy.IGNORE
    #: Keys whose value on the incoming pod narrows the selector.
    match_label_keys: Annotated[tuple[str, ...], INTERNAL] = ()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Constraint:
        """Build a constraint from a valid API object; see ``validation.constraint_errors``.

        Absent optional fields mean what the scheduler takes them to mean: ``minDomains`` 1,
        ``nodeAffinityPolicy`` Honor, ``nodeTaintsPolicy`` Ignore
        (``podtopologyspread/common.go``, Kubernetes 1.36).
        """
        selector = raw.get("labelSelector")
        of_affinity, of_taints = raw.get("nodeAffinityPolicy"), raw.get("nodeTaintsPolicy")
        return cls(
            max_skew=raw["maxSkew"],
            topology_key=raw["topologyKey"],
            when_unsatisfiable=WhenUnsatisfiable(raw["whenUnsatisfiable"]),
            selector=None if selector is None else LabelSelector.parse(selector),
            min_domains=raw.get("minDomains") or 1,
            node_affinity_policy=NodeInclusionPolicy(of_affinity)
            if of_affinity
            else NodeInclusionPolicy.HONOR,
            node_taints_policy=NodeInclusionPolicy(of_taints) if of_taints else NodeInclusionPolicy.IGNORE,
            match_label_keys=tuple(raw.get("matchLabelKeys") or ()),
        )

    @property
    def of_domains(self) -> tuple[Hashable, ...]:
        """All but what it selects, which does not matter to its domains."""
        policies = self.node_affinity_policy, self.node_taints_policy
        return self.topology_key, self.when_unsatisfiable, self.max_skew, self.min_domains, *policies

    def without(self, dropped: Collection[str]) -> Constraint:
        """Return the constraint with every field that a release drops at its default."""
        if not dropped:
            return self
        defaults = {name: value for field in dropped for name, value in _WITHOUT[field].items()}
        return replace(self, **defaults)

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint as the API writes it, leaving out what equals the default.

        >>> Constraint(max_skew=1, topology_key="zone",
        ...            when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY).to_dict()
        {'maxSkew': 1, 'topologyKey': 'zone', 'whenUnsatisfiable': 'ScheduleAnyway'}
        """
        raw: dict[str, Any] = {
            "maxSkew": self.max_skew,
            "topologyKey": self.topology_key,
            "whenUnsatisfiable": str(self.when_unsatisfiable),
        }
        if self.selector is not None:
            raw["labelSelector"] = self.selector.to_dict()
        if self.min_domains != 1:
            raw["minDomains"] = self.min_domains
        if self.node_affinity_policy is not NodeInclusionPolicy.HONOR:
            raw["nodeAffinityPolicy"] = str(self.node_affinity_policy)
        if self.node_taints_policy is not NodeInclusionPolicy.IGNORE:
            raw["nodeTaintsPolicy"] = str(self.node_taints_policy)
        if self.match_label_keys:
            raw["matchLabelKeys"] = list(self.match_label_keys)
        return raw


def without_fields(raw: Mapping[str, Any], dropped: frozenset[str]) -> Mapping[str, Any]:
    """Return a raw constraint without the fields that a release drops, whatever their values."""
    if dropped and not dropped.isdisjoint(raw):
        return {name: value for name, value in raw.items() if name not in dropped}
    return raw


class Merge(Enum):
    """Whether the API server (since 1.34) has merged ``matchLabelKeys`` into the selector yet.

    BEFORE: a file, a workload's template, a pod in the mutating phase. A key in both is a conflict.
    CREATED: a pod in the validating phase of its creation. One ``{key, In, [the pod's value]}`` is the merge.
    FROZEN: a stored pod. Its label may have changed since, so the one value may be any.
    """

    BEFORE = "before"
    CREATED = "created"
    FROZEN = "frozen"


def check_merge(
    entry: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    *,
    labels: Mapping[str, str],
    merge: Merge,
    of_template: bool = False,
) -> None:
    """Record each match label key that the selector names besides the API server's own merge.

    The server appends once for every occurrence in ``matchLabelKeys``, so a key listed twice conflicts with
    itself. Each key is reported once, at its last position, as the API server does.
    """
    keys = entry["matchLabelKeys"]
    if not isinstance(keys, list) or not isinstance(entry.get("labelSelector"), dict):
        return
    uses = _selector_uses(entry["labelSelector"])
    last_position: dict[str, int] = {}
    repeated = set()
    for position, key in enumerate(keys):
        if isinstance(key, str):
            if key in last_position:
                repeated.add(key)
            last_position[key] = position
    for key, position in last_position.items():
        named = uses.get(key, [])
        if merge is Merge.BEFORE:
            conflict = bool(named) or (key in repeated and key in labels)
        else:
            conflict = len(named) > 1 or not all(
                _is_merged(values, labels.get(key), merge) for values in named
            )
        if conflict and not found.has_enough(ApiRule.MATCH_LABEL_KEY_IN_SELECTOR):
            text = "exists in both matchLabelKeys and labelSelector"
            if of_template:
                text += ": Kubernetes 1.34+ rejects every pod of this workload"
            rule = ApiRule.MATCH_LABEL_KEY_IN_SELECTOR
            found.add(invalid_value(path.index(position), key, text, rule))


def _selector_uses(selector: Mapping[str, Any]) -> dict[str, list[object]]:
    """Return, for every key a selector names, the values of each In expression and None for other uses."""
    uses: dict[str, list[object]] = {key: [None] for key in member(selector, "matchLabels")}
    for expression in object_items(selector.get("matchExpressions")):
        if isinstance(key := expression.get("key"), str):
            values = expression.get("values") if expression.get("operator") == Operator.IN else None
            uses.setdefault(key, []).append(values)
    return uses


def _is_merged(values: object, label: str | None, merge: Merge) -> bool:
    """Return whether an In expression's values are what the API server's merge writes."""
    return isinstance(values, list) and (values == [label] or (merge is Merge.FROZEN and len(values) == 1))


def repeated_match_label_keys(raw: object, path: FieldPath) -> list[tuple[FieldPath, str]]:
    """Return every match label key that repeats one before it, with its path.

    The API server takes such a workload, but since 1.34 refuses each of its pods that carries the label.
    """
    repeats = []
    for where, entry in ErrorList().objects(raw, path):
        keys_path, seen = where.child("matchLabelKeys"), set()
        for position, key in enumerate(ErrorList().items(entry.get("matchLabelKeys"), keys_path)):
            if isinstance(key, str) and key in seen:
                repeats.append((keys_path.index(position), key))
            elif isinstance(key, str):
                seen.add(key)
    return repeats
