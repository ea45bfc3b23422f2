"""A search for the review that costs most: random objects on random clusters, and changes of the dearest.

Usage: python -m benchmarks.dearest_review [NODES [TRIES [SEED]]]

What is kept of earlier reviews helps none: before each a stored pod changes, and each has labels of its own.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final, NamedTuple

from benchmarks.shapes import AIM_MS, NODES, ROUNDS
from policies.model.validation import size_of
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from tests.security.clusters import (
    CLUSTER_CHOICES,
    SHAPES,
    a_cluster,
    changed_pod,
    stored_objects,
    stored_policies,
)
from tests.security.combinations import (
    CHOICES,
    Choices,
    an_object,
    changed,
    drawn,
    stored_before,
    template_of,
)
from tests.security.reviewing import MAX_BODY_BYTES, Answer, answer, context_with, review_of
from webhook.admission.review import Phase

#: Objects that are tried, and how many of them on each cluster: to make one takes as long as some hundred.
TRIES: Final = 2_000
TRIES_A_CLUSTER: Final = 200
#: Entries that fit into an object: each has four characters at least.
MOST_ENTRIES: Final = MAX_BODY_BYTES // 4
#: The dearest tries of a cluster, and the dearest clusters, that are changed further. Arbitrary.
ELITE: Final = 20
#: The share of tries, and of clusters, that change one of them.
CHANGED: Final = 0.7


class Try(NamedTuple):
    """The cost of the reviews of an object on a cluster, of the dearer one of both routes."""

    milliseconds: float
    number: int
    bytes: int
    answer: str
    cluster: Mapping[str, Any]
    obj: Mapping[str, Any]

    def __str__(self) -> str:
        chosen = f"object {_besides_first(CHOICES, self.obj)}"
        cluster = f"cluster {_besides_first(CLUSTER_CHOICES, self.cluster)}"
        return f"{self.milliseconds:7.1f} ms  {self.answer}, {self.bytes:,} bytes: {chosen}, {cluster}"


class Cluster:
    """A cluster whose pods change.

    Attributes:
        chosen: What it has.
        context: What reviews are decided by.
    """

    def __init__(self, chosen: Mapping[str, Any], nodes: int) -> None:
        self.chosen, self._nodes, self._index = chosen, nodes, ClusterIndex()
        gc.unfreeze()
        for obj in stored_objects(chosen, nodes):
            self._index.apply(obj)
        self._index.list_kinds(INDEXED_KINDS)
        self.context = context_with(stored_policies(chosen), self._index)
        # To look through a whole cluster for garbage takes longer than many reviews.
        gc.collect()
        gc.freeze()

    def change(self, label: str) -> None:
        """Give a label to a pod, if there is one."""
        pod = changed_pod(self.chosen, self._nodes, label)
        if pod is not None:
            self._index.apply(pod)


def run(nodes: int = NODES, tries: int = TRIES, seed: int = 1) -> None:
    """Print the dearest try of each cluster, and those above the aim, as they are found; then how many."""
    taken = above = 0
    print(f"{tries:,} objects (seed {seed}) on clusters of {nodes:,} nodes:", flush=True)
    for of_cluster in search(nodes, tries, random.Random(seed)):
        dear = list(takewhile(_is_above, of_cluster))
        for each in dear or of_cluster[:1]:
            print(f"  {each}", flush=True)
        taken, above = taken + len(of_cluster), above + len(dear)
    large = f"{tries - taken:,} larger than an object may be"
    print(f"{large}, {above} of the others above the aim of {AIM_MS:.0f} ms")


def _is_above(found: Try) -> bool:
    return found.milliseconds > AIM_MS


def search(nodes: int, tries: int, source: random.Random) -> Iterator[list[Try]]:
    """Yield the tries of each cluster, the dearest first, without those that no API server would take."""
    elite: list[Try] = []
    for number, first in enumerate(range(0, tries, TRIES_A_CLUSTER)):
        cluster, here = Cluster(_next_cluster(number, elite, source), nodes), list[Try]()
        for each in range(first, min(first + TRIES_A_CLUSTER, tries)):
            found = _tried(each, _next_object(here[:ELITE], elite, source), cluster)
            if found is not None:
                here.append(found)
                here.sort(reverse=True)
        # The best of each cluster alone, or all would soon be like the dearest.
        elite = sorted((*elite, *here[:1]), reverse=True)[:ELITE]
        yield here


def _next_cluster(number: int, elite: list[Try], source: random.Random) -> Mapping[str, Any]:
    """Return each of the shapes first, then changes of dear clusters, two shapes in one, and others."""
    shapes = list(SHAPES.values())
    if number < len(shapes):
        return a_cluster(**shapes[number])
    if source.random() < CHANGED:
        return changed(source.choice(elite).cluster, source, of=CLUSTER_CHOICES)
    if source.random() < 0.5:
        one, other = source.sample(shapes, k=2)
        return a_cluster(**one, **{name: value for name, value in other.items() if name not in one})
    return drawn(source, busy=source.choice((0.15, 0.3, 0.6)), of=CLUSTER_CHOICES)


def _next_object(here: list[Try], elite: list[Try], source: random.Random) -> Mapping[str, Any]:
    """Return a change of an object that is dear on this cluster or was on another, or any one."""
    known = here if here and source.random() < CHANGED else elite
    if known and source.random() < CHANGED:
        return changed(source.choice(known).obj, source)
    return drawn(source, busy=source.choice((0.05, 0.15, 0.3, 0.6)))


def _tried(number: int, chosen: Mapping[str, Any], cluster: Cluster) -> Try | None:
    obj = an_object(chosen)
    # Its parts share what they have alike: written out, some would not fit into memory.
    if size_of(obj, MOST_ENTRIES) > MOST_ENTRIES:
        return None
    old = stored_before(chosen, obj)
    size = len(review_of(obj, old=old))
    if size > MAX_BODY_BYTES:
        return None
    dearer = max((_cheapest(number, phase, obj, old, cluster) for phase in Phase), key=_seconds)
    said = ("denied" if dearer.is_denied else "allowed") + (", not judged" if dearer.not_judged else "")
    return Try(dearer.seconds * 1000, number, size, said, cluster.chosen, chosen)


def _cheapest(
    number: int, phase: Phase, obj: dict[str, Any], old: dict[str, Any] | None, cluster: Cluster
) -> Answer:
    """Return the answer at its least cost in some rounds; more of them above the aim, fewer far below it."""
    least: Answer | None = None
    for turn in range(3 * ROUNDS):
        label = f"{number}-{turn}-{phase}"
        for each in (obj, *([old] if old else [])):
            template_of(each)["metadata"]["labels"]["turn"] = label
        cluster.change(label)
        found = answer(review_of(obj, old=old), phase, cluster.context)
        least = found if least is None else min(least, found, key=_seconds)
        if least.seconds * 1000 < (AIM_MS / 2 if turn + 1 < ROUNDS else AIM_MS):
            break
    assert least is not None
    return least


def _seconds(found: Answer) -> float:
    return found.seconds


def _besides_first(choices: Choices, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is chosen besides what comes first."""
    return {name: value for name, value in chosen.items() if value != choices[name][0]}


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
