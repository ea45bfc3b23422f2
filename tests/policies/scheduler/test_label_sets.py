"""Label sets: selectors by posting lists say what selectors say of each set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.model.labels import LabelSelector
from policies.scheduler.columns import LabelSets
from tests.policies.scheduler.strategies_constraints import selectors

#: Over the vocabulary of the selectors, with labels that none of them asks for.
LABELS = st.dictionaries(
    st.sampled_from(("app", "tier", "rev", "other")), st.sampled_from(("a", "b", "web", "", "1", "2"))
)


@given(st.lists(LABELS, max_size=8), selectors())
def test_posting_lists(sets: list[dict[str, str]], raw: dict[str, object]) -> None:
    """Each set is selected exactly if the selector matches it; set 0 never is."""
    table, selector = LabelSets(), LabelSelector.parse(raw)
    numbers = [table.take(entry) for entry in sets]
    selected = table.select(selector)

    assert [selector.matches(entry) for entry in sets] == [bool(selected[number]) for number in numbers]
    assert not selected[0]


def test_equal_labels_share_a_number() -> None:
    """The order of the labels does not matter; unused sets go when they are numbered anew."""
    table = LabelSets()
    first, again, other = (table.take(entry) for entry in ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {}))
    table.release(first)
    table.release(again)
    new = table.renumber()

    assert first == again
    assert [0, 0, 1] == new.tolist()
    assert 1 == table.take({})
    assert [0, 1] == [new[first], new[other]]
