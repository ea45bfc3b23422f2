"""Terms of affinity of running pods, found by the labels of an incoming pod that they may be about.

A cluster has few distinct terms, whatever the number of its pods: each is kept once, with its pods on each
node slot. Users write them, so what is compared with a pod is counted first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from policies.model.interpod_terms import InterPodTerm, InterPodTerms
from policies.model.labels import RequiredLabel
from policies.model.step_counter import StepCounter

#: Pods with different labels, or in different namespaces, for which the terms that select them are kept.
KEPT: Final = 32
#: Steps of comparing a term with a pod, of each of its requirements, and of adding up its pods on a node.
MATCH_STEPS, REQUIREMENT_STEPS, NODE_STEPS = 16, 12, 1
#: Values of a label under which a term is filed in a namespace; with more it is under the key.
MOST_PLACES: Final = 4
#: What the terms are called in messages.
TERM: Final = "affinity term"

#: What a term requires of a pod: the namespace that it names, None if it selects those by their labels, and a
#: label; None if it requires none.
_Place: TypeAlias = tuple[str | None, RequiredLabel | None]
#: Who selects a pod is kept by its namespace, the labels of that, and its own.
_Pod: TypeAlias = tuple[str, frozenset[tuple[str, str]], frozenset[tuple[str, str]]]


class HeldTerm:
    """A term, and how many of its pods are on each node slot.

    Attributes:
        term: The term.
        slots: How many there are, by node slot.
        origin: The namespace of the pod with which the term came.
        steps: The steps of comparing it with a pod.
        places: Where it is filed.
    """

    __slots__ = ("origin", "places", "slots", "steps", "term")

    def __init__(self, term: InterPodTerm, slots: dict[int, int], origin: str) -> None:
        self.term, self.slots, self.origin = term, slots, origin
        sizes = (each.size for each in (term.selector, term.namespace_selector) if each is not None)
        self.steps = MATCH_STEPS + REQUIREMENT_STEPS * sum(sizes)
        self.places: list[_Place] = []


class TermTable:
    """The terms of running pods that could be about an incoming pod."""

    __slots__ = ("_filed", "_held", "_kept", "_origins", "_steps")

    def __init__(self) -> None:
        self._held: dict[InterPodTerm, HeldTerm] = {}
        self._filed: dict[_Place, dict[HeldTerm, None]] = {}
        #: The steps of comparing all terms of a place.
        self._steps: Counter[_Place] = Counter()
        #: How many terms came with a pod of each namespace.
        self._origins: Counter[str] = Counter()
        #: The terms that select a pod, until one comes or goes.
        self._kept: dict[_Pod, list[HeldTerm]] = {}

    def __len__(self) -> int:
        """Return how many distinct terms there are."""
        return len(self._held)

    def items(self) -> Iterator[tuple[InterPodTerm, dict[int, int]]]:
        """Yield each term, and how many of its pods are on each node slot."""
        return ((term, held.slots) for term, held in self._held.items())

    def add(self, terms: Iterable[InterPodTerm], slot: int, amount: int, namespace: str = "") -> None:
        """Add terms of a pod of a namespace on a node slot, or take them away."""
        for term in terms:
            held = self._held.get(term)
            if held is None:
                self._file(HeldTerm(term, {slot: amount}, namespace))
                continue
            slots = held.slots
            slots[slot] = slots.get(slot, 0) + amount
            if not slots[slot]:
                del slots[slot]
            if not slots:
                self._drop(held)

    def copy(self) -> TermTable:
        """Return a table of its own."""
        fork = TermTable()
        for held in self._held.values():
            fork._file(HeldTerm(held.term, dict(held.slots), held.origin))
        return fork

    def selecting(
        self,
        namespace: str,
        namespace_labels: Mapping[str, str],
        labels: Mapping[str, str],
        steps: StepCounter,
    ) -> list[HeldTerm]:
        """Return the terms that select a pod."""
        if not self._held:
            return []
        pod = (namespace, frozenset(namespace_labels.items()), frozenset(labels.items()))
        found = self._kept.get(pod)
        if found is None:
            places = [place for place in _places_of(namespace, labels) if place in self._filed]
            many = sum(len(self._filed[place]) for place in places)
            each = sum(self._steps[place] for place in places) / max(many, 1)
            steps.take(many, each, TERM, self.most_are_of)
            found = [
                held
                for place in places
                for held in self._filed[place]
                if held.term.selects(namespace, namespace_labels, labels)
            ]
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[pod] = found
        return found

    def most_are_of(self) -> str:
        """Return the namespace of the pods with which most terms came; empty if that of none did."""
        namespace, count = max(self._origins.items(), key=itemgetter(1), default=("", 0))
        return f"most of them of pods in namespace {namespace}" if 2 * count > len(self._held) else ""

    def _file(self, held: HeldTerm) -> None:
        term = held.term
        self._kept.clear()
        self._held[term] = held
        self._origins[held.origin] += 1
        if term.selector is None:
            return  # It selects no pod.
        scopes = tuple(term.namespaces) if term.namespace_selector is None else (None,)
        required = term.selector.required_labels()
        choices = [labels if len(labels) <= MOST_PLACES else ((labels[0][0], None),) for labels in required]
        # That with the fewest terms: one such as part-of=shop may be in every term.
        fewest = min(choices or ((None,),), key=lambda labels: self._count(scopes[:1], labels))
        held.places = [(scope, label) for scope in scopes for label in fewest]
        for place in held.places:
            self._filed.setdefault(place, {})[held] = None
            self._steps[place] += held.steps

    def _count(self, scopes: Iterable[str | None], labels: Iterable[RequiredLabel | None]) -> int:
        """Return how many terms of some scopes are filed under labels."""
        return sum(len(self._filed.get((scope, label), ())) for scope in scopes for label in labels)

    def _drop(self, held: HeldTerm) -> None:
        self._kept.clear()
        del self._held[held.term]
        self._origins[held.origin] -= 1
        if not self._origins[held.origin]:
            del self._origins[held.origin]
        for place in held.places:
            self._steps[place] -= held.steps
            del self._filed[place][held]
            if not self._filed[place]:
                del self._filed[place], self._steps[place]


def _places_of(namespace: str, labels: Mapping[str, str]) -> Iterator[_Place]:
    """Yield where the terms are filed that may select a pod."""
    for scope in (namespace, None):
        yield scope, None
        for key, value in labels.items():
            yield scope, (key, value)
            yield scope, (key, None)


def add_up(terms: list[HeldTerm], slots: int, steps: StepCounter) -> NDArray[np.int64]:
    """Return how many pods with some terms are on every slot, a pod once for each, shape ``(s,)``."""
    at, counts = list[int](), list[int]()
    steps.take(sum(len(held.slots) for held in terms), NODE_STEPS, "pod with affinity term")
    for held in terms:
        at += held.slots.keys()
        counts += held.slots.values()
    # bincount adds as float64, exact up to 2**53.
    return np.bincount(np.array(at, np.intp), weights=counts, minlength=slots).astype(np.int64)


def signed_preferences(terms: InterPodTerms) -> Iterator[InterPodTerm]:
    """Yield the preferred terms of a pod, the weights of anti-affinity below zero."""
    yield from terms.preferred_affinity
    for term in terms.preferred_anti_affinity:
        yield replace(term, weight=-term.weight)
