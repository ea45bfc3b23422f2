"""Hypothesis strategies for what keeps pods off nodes: taints, tolerations, node selectors and affinity."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

from hypothesis import strategies as st

from tests.policies.scheduler.strategies_constraints import HOSTNAME, ZONE

Object = dict[str, Any]

NODE_NAMES = ("n0", "n1", "n2", "n3", "n4")
#: The values of node labels that an affinity looks at; no node has "nosuch".
NODE_LABELS = {ZONE: ("a", "b", ""), "rack": ("r1", "r2"), HOSTNAME: ("n0", "shared"), "nosuch": ("x",)}
#: Values of the label ``gen`` for Gt and Lt: integers, the largest of 64 bits and one more, and none at all.
GENERATIONS = ("3", "7", "007", "abc", "", "9223372036854775807", "9223372036854775808")
TAINT_KEYS = ("dedicated", "gpu", "node.kubernetes.io/unschedulable")
TAINT_VALUES = ("x", "y", None)
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def _present(**fields: Any) -> Object:
    """Return an object of the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


#: Every taint over the vocabulary.
TAINTS = [
    _present(key=key, value=value, effect=effect)
    for key, value, effect in product(TAINT_KEYS, TAINT_VALUES, EFFECTS)
]
#: Lists of taints: none, one, and two that differ in key or effect, as the API server wants.
TAINT_LISTS: tuple[list[list[Object]], ...] = (
    [[]],
    [[taint] for taint in TAINTS],
    [
        [one, other]
        for one, other in combinations(TAINTS, 2)
        if (one["key"], one["effect"]) != (other["key"], other["effect"])
    ],
)
#: Every toleration over the vocabulary: of one taint, one key, one effect, or of everything.
TOLERATIONS = [
    *(_present(operator="Exists", effect=effect) for effect in (None, *EFFECTS)),
    *(
        _present(key=key, operator="Exists", effect=effect)
        for key, effect in product(TAINT_KEYS, (None, *EFFECTS))
    ),
    *(
        _present(key=key, operator=operator, value=value, effect=effect)
        for key, operator, value, effect in product(
            TAINT_KEYS, (None, "Equal"), TAINT_VALUES, (None, *EFFECTS)
        )
    ),
    {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
]


def _expressions() -> list[Object]:
    """Return every expression of a term over the vocabulary; any label value may bound Gt and Lt."""
    found: list[Object] = []
    for key, values in NODE_LABELS.items():
        found += [{"key": key, "operator": operator} for operator in ("Exists", "DoesNotExist")]
        for operator, count in product(("In", "NotIn"), (1, 2)):
            found += [
                {"key": key, "operator": operator, "values": list(some)}
                for some in combinations(values, count)
            ]
    bounds = product(("Gt", "Lt"), GENERATIONS)
    return found + [{"key": "gen", "operator": operator, "values": [bound]} for operator, bound in bounds]


EXPRESSIONS = _expressions()
FIELDS = [
    {"key": "metadata.name", "operator": operator, "values": [name]}
    for operator, name in product(("NotIn", "In"), (*NODE_NAMES, "gone"))
]
#: A preference, which refuses no node.
PREFERRED = [{"weight": 1, "preference": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}}]

_taint_lists = st.one_of(*(st.sampled_from(TAINT_LISTS[count]) for count in (*(0,) * 14, 1, 1, 2)))
_toleration_lists = st.lists(st.sampled_from(TOLERATIONS), max_size=2)
#: The labels of a nodeSelector; mostly none.
_node_selectors: st.SearchStrategy[dict[str, str] | None] = st.sampled_from(
    (*(None,) * 12, {ZONE: "a"}, {ZONE: ""}, {"rack": "r1", ZONE: "a"}, {"nosuch": "x"}, {})
)
_affinities = st.sampled_from(
    (*("none",) * 16, "required", "required", "required", "preferred", "both", "empty")
)
_shapes = st.sampled_from(((1, 0), (1, 0), (2, 0), (1, 1), (0, 1), (0, 0)))
_expressions_of_terms = st.sampled_from(EXPRESSIONS)
_fields = st.sampled_from(FIELDS)


def taint_lists() -> st.SearchStrategy[list[Object]]:
    """Draw a node's taints: mostly none."""
    return _taint_lists


def toleration_lists() -> st.SearchStrategy[list[Object]]:
    """Draw a pod's tolerations."""
    return _toleration_lists


@cache
@st.composite
def node_choices(draw: st.DrawFn) -> Object:
    """Draw the part of a pod's spec that picks nodes: mostly nothing; a selector, an affinity, or both."""
    selector = draw(_node_selectors)
    spec: Object = {} if selector is None else {"nodeSelector": selector}
    form = draw(_affinities)
    if form == "none":
        return spec
    affinity: Object = {}
    if form in ("required", "both"):
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": draw(_term_lists)}
    if form in ("preferred", "both"):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = PREFERRED
    return spec | {"affinity": {"nodeAffinity": affinity}}


@st.composite
def _terms(draw: st.DrawFn) -> Object:
    """Draw a term of a required affinity; one without anything matches nothing."""
    expressions, fields = draw(_shapes)
    term: Object = {}
    if expressions:
        term["matchExpressions"] = [draw(_expressions_of_terms) for _ in range(expressions)]
    if fields:
        term["matchFields"] = [draw(_fields)]
    return term


_term_lists = st.lists(_terms(), min_size=1, max_size=2)
