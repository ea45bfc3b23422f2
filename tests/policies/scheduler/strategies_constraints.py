"""Hypothesis strategies for constraints, selectors and default constraints that the API server takes.

Most parts are one draw out of a catalog: drawing takes the time, and building strategies even more, so they
are built once. A catalog's first entry is what a failing example shrinks to.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations, product
from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
#: Two labels that nodes usually have, one that they often lack, and one that none has.
TOPOLOGY_KEYS = (ZONE, HOSTNAME, "rack", "nosuch")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = (None, "Honor", "Ignore")
MAX_SKEWS = (*(1,) * 8, 2, 2, 3, 2**31 - 1)
#: The labels that selectors look at, and values they ask for; pods have no "nosuch".
SELECTED = {"app": ("a", "b"), "tier": ("web", ""), "nosuch": ("x", "y")}
#: Keys for matchLabelKeys, which no selector here names; no pod has "absent".
MATCH_LABEL_KEYS = (None, None, ["rev"], ["rev", "absent"], ["absent"])


def _expressions() -> list[Object]:
    """Return every expression of a label selector over the vocabulary, with one value or two."""
    found: list[Object] = []
    for key, values in SELECTED.items():
        found += [{"key": key, "operator": operator} for operator in ("Exists", "DoesNotExist")]
        for operator, count in product(("In", "NotIn"), (1, 2)):
            found += [
                {"key": key, "operator": operator, "values": list(some)}
                for some in combinations(values, count)
            ]
    return found


#: Pairs alone, as most selectors are.
PAIRS: tuple[Object, ...] = (
    *({"matchLabels": {"app": "a"}},) * 4,
    {"matchLabels": {"app": "b"}},
    {"matchLabels": {"tier": ""}},
    {"matchLabels": {"app": "a", "tier": "web"}},
)
#: Expressions of all operators: alone, two together, and beside a pair, which they may contradict.
EXPRESSIONS: tuple[Object, ...] = (
    *({"matchExpressions": [one]} for one in _expressions()),
    *({"matchExpressions": list(both)} for both in combinations(_expressions(), 2)),
    *({"matchLabels": {"app": "a"}, "matchExpressions": [one]} for one in _expressions()),
)
#: A constraint without its topology key, action and selector. minDomains goes with DoNotSchedule only.
SETTINGS: dict[str, list[Object]] = {
    action: [
        {
            name: value
            for name, value in (
                ("maxSkew", max_skew),
                ("nodeAffinityPolicy", affinity),
                ("nodeTaintsPolicy", taints),
                ("minDomains", minimum),
            )
            if value is not None
        }
        for minimum, max_skew, affinity, taints in product(minimums, MAX_SKEWS, POLICIES, POLICIES)
    ]
    for action, minimums in (("DoNotSchedule", (None, None, 1, 2, 3, 4)), ("ScheduleAnyway", (None,)))
}
#: Lists of {topologyKey, whenUnsatisfiable} without repeats, by length; usual keys come more often.
PAIR_LISTS = {
    size: [
        pairs
        for keys in (*(TOPOLOGY_KEYS[:2],) * 20, TOPOLOGY_KEYS[:3], TOPOLOGY_KEYS)
        for pairs in permutations(product(keys, ACTIONS), size)
    ]
    for size in range(4)
}


_selectors = st.one_of(*(st.sampled_from(some) for some in (PAIRS, PAIRS, PAIRS, EXPRESSIONS)))
_forms = st.sampled_from((*("some",) * 10, "absent", "null", "empty"))
_match_label_keys = st.sampled_from(MATCH_LABEL_KEYS)
_settings = {action: st.sampled_from(settings) for action, settings in SETTINGS.items()}
_own_pairs = st.one_of(*(st.sampled_from(PAIR_LISTS[size]) for size in (1, 2, 2, 3, 3)))
_default_pairs = st.one_of(*(st.sampled_from(PAIR_LISTS[size]) for size in (1, 2, 3, 0)))


def selectors() -> st.SearchStrategy[Object]:
    """Draw a label selector that names something."""
    return _selectors


@cache
@st.composite
def constraints(draw: st.DrawFn) -> list[Object]:
    """Draw a pod's constraints: one to three, and no two of one key and action.

    The selector is absent, null, empty or not; match label keys may stand beside it.
    """
    return [
        {"topologyKey": key, "whenUnsatisfiable": action, **draw(_settings[action]), **_selection(draw)}
        for key, action in draw(_own_pairs)
    ]


def _selection(draw: st.DrawFn) -> Object:
    form = draw(_forms)
    if form == "absent":
        return {}
    if form == "null":
        return {"labelSelector": None}
    selection: Object = {"labelSelector": draw(_selectors) if form == "some" else {}}
    keys = draw(_match_label_keys)
    return selection | {"matchLabelKeys": keys} if keys else selection


@cache
@st.composite
def default_constraints(draw: st.DrawFn) -> list[Object]:
    """Draw the constraints of PodTopologySpreadArgs, none to three, which have no selector."""
    return [
        {"topologyKey": key, "whenUnsatisfiable": action, **draw(_settings[action])}
        for key, action in draw(_default_pairs)
    ]
