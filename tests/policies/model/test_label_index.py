"""Label sets are found as a selector asks for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.neighbors import LabelIndex

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
SETS_OF_VALUES = st.lists(VALUES, min_size=1).map(tuple)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from([Operator.IN, Operator.NOT_IN]), SETS_OF_VALUES),
    st.builds(Requirement, KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
)
SELECTORS = st.builds(
    LabelSelector, LABELS.map(lambda labels: tuple(labels.items())), st.lists(REQUIREMENTS).map(tuple)
)


@given(st.lists(LABELS), SELECTORS)
def test_finds_what_matches(sets: list[dict[str, str]], selector: LabelSelector) -> None:
    """Exactly the sets that the selector matches, each once, in the order in which they came."""
    index = LabelIndex()
    distinct: list[dict[str, str]] = []
    for labels in sets:
        if index.add(labels) == len(distinct):
            distinct.append(labels)
    found = list(index.matching(selector))

    assert [number for number, labels in enumerate(distinct) if selector.matches(labels)] == found
    assert list(range(len(distinct))) == [index.find(labels) for labels in distinct]
    assert index.find({"never": "came"}) is None
