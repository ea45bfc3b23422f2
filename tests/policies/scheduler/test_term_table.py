"""Terms of running pods: those that are found for a pod are those that select it, whatever came and went."""

from __future__ import annotations

from random import Random

import pytest

from policies.model.interpod_terms import InterPodTerm
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.scheduler import term_table
from policies.scheduler.term_table import TermTable

KEYS, VALUES, NAMESPACES = ("app", "tier", "x"), ("a", "b"), ("shop", "pay")


def a_selector(source: Random) -> LabelSelector:
    """Return a selector of a few labels, in any of its forms."""
    labels = tuple((key, source.choice(VALUES)) for key in KEYS if source.random() < 0.3)
    expressions = [
        Requirement(key, operator, VALUES[: source.randint(1, 2)] if operator.value.endswith("In") else ())
        for key in KEYS
        if source.random() < 0.3
        for operator in (source.choice(tuple(Operator)),)
    ]
    return LabelSelector(labels, tuple(expressions))


def a_term(source: Random) -> InterPodTerm:
    """Return a term that selects in namespaces that it names, that it selects, or in both."""
    names = frozenset(name for name in NAMESPACES if source.random() < 0.5)
    spaces = a_selector(source) if source.random() < 0.4 or not names else None
    selector = a_selector(source) if source.random() < 0.9 else None
    return InterPodTerm(source.choice(KEYS), selector, names, spaces)


@pytest.mark.parametrize("seed", range(20))
def test_the_terms_that_select_a_pod(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index finds what a comparison with every term does, also in a copy, each term once."""
    monkeypatch.setattr(term_table, "MOST_PLACES", seed % 3)
    source, table, held = Random(seed), TermTable(), list[tuple[InterPodTerm, int]]()
    for _ in range(60):
        if held and source.random() < 0.3:
            term, slot = held.pop(source.randrange(len(held)))
            table.add((term,), slot, -1, "shop")
        else:
            held.append((a_term(source), source.randrange(3)))
            table.add(held[-1][:1], held[-1][1], 1, "shop")
        labels = {key: source.choice(VALUES) for key in KEYS if source.random() < 0.6}
        spaces = {key: source.choice(VALUES) for key in KEYS if source.random() < 0.6}
        pod = (source.choice(NAMESPACES), spaces, labels)

        for each in (table, table.copy()):
            found = [entry.term for entry in each.selecting(*pod, StepCounter())]

            assert len(found) == len(set(found))
            assert set(found) == {term for term, _ in held if term.selects(*pod)}


def test_terms_that_are_too_many() -> None:
    """Whose they are is said; a pod that they cannot be about is not compared with them."""
    table = TermTable()
    for number in range(100):
        selector = LabelSelector((("app", "web"), ("x", str(number % 2))))
        term = InterPodTerm("zone", selector, frozenset(("pay",)), None, weight=number)
        table.add((term,), 1, 1, "shop")

    table.selecting("pay", {}, {"app": "api"}, StepCounter(0))
    with pytest.raises(TooManyStepsError, match=r"^\d+ affinity terms .* of pods in namespace shop$"):
        table.selecting("pay", {}, {"app": "web", "x": "1"}, StepCounter(100))
