"""The workloads of two sets of manifests, each as it was and as it will be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef

#: Holds a template that other objects refer to; no controller makes pods of it.
_POD_TEMPLATE: Final = "PodTemplate"


class PlanAction(StrEnum):
    """The action of a plan on a workload, in the order in which actions are done."""

    REMOVE = "remove"
    REPLACE = "replace"
    CHANGE = "change"
    ADD = "add"


class Source(NamedTuple):
    """The source of a workload: a manifest, or an overlay or environment of several."""

    file: str = ""  #: Its file; empty for the cluster's own.
    #: The same below the path that was given, by which it is found in another set of manifests.
    place: str = ""


#: The source of a workload of which it is not known what it was built from.
NO_SOURCE: Final = Source()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPair:
    """A workload of either set of manifests, or of both."""

    key: WorkloadRef  #: Which it is.
    before: Workload | None  #: As it was; None if it was not there.
    after: Workload | None  #: As it will be; None if it will not be there.
    builds: tuple[str, ...] = ()  #: The files that it is built from, equally by all of them.
    #: Whether other builds describe the object otherwise: a cluster has one of them.
    alternative: bool = False

    @property
    def any(self) -> Workload:
        """The workload as it will be, or else as it was."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a pair holds a workload")
        return found


#: A workload with what it is built from.
BuiltWorkload: TypeAlias = tuple[Workload, Source]
#: The workloads of one key by what they are built from, and a number where a source has several of them.
_Builds: TypeAlias = dict[tuple[str, int], BuiltWorkload]


def pair_workloads(before: Iterable[BuiltWorkload], after: Iterable[BuiltWorkload]) -> list[WorkloadPair]:
    """Return the workloads of both sets, each as it was and as it will be, by their keys.

    Of several builds of one object each is compared with what was built from the same place; of those that
    come to the same there is one pair.
    """
    old, new = _by_key(before), _by_key(after)
    return [
        pair for key in sorted({*old, *new}) for pair in _pairs_of(key, old.get(key, {}), new.get(key, {}))
    ]


def _pairs_of(key: WorkloadRef, old: _Builds, new: _Builds) -> Iterator[WorkloadPair]:
    if len(old) < 2 and len(new) < 2:
        # Wherever it is written now.
        yield _pair(key, next(iter(old.values()), None), next(iter(new.values()), None))
        return
    grouped: dict[tuple[str, str], WorkloadPair] = {}
    for was, becomes in _matched(old, new):
        pair, texts = _pair(key, was, becomes), (_text(was), _text(becomes))
        builds = dict.fromkeys((*grouped.get(texts, pair).builds, *pair.builds))
        grouped[texts] = replace(pair, builds=tuple(builds))
    for pair in grouped.values():
        yield replace(pair, alternative=len(grouped) > 1)


def _pair(key: WorkloadRef, was: BuiltWorkload | None, becomes: BuiltWorkload | None) -> WorkloadPair:
    before, after = (None if built is None else built[0] for built in (was, becomes))
    source = NO_SOURCE if (build := becomes or was) is None else build[1]
    return WorkloadPair(key=key, before=before, after=after, builds=(source.file,) if source.file else ())


def _matched(old: _Builds, new: _Builds) -> Iterator[tuple[BuiltWorkload | None, BuiltWorkload | None]]:
    """Yield the build from each place before and after; None where there was, or is, none."""
    if len({_text(built) for built in old.values()}) == 1 and not old.keys() & new.keys():
        # A cluster, or a file of another name, has one of them: every build is compared with it.
        one = next(iter(old.values()))
        yield from ((one, becomes) for becomes in new.values())
        if not new:
            yield from ((built, None) for built in old.values())
        return
    for place in dict.fromkeys((*new, *old)):
        yield old.get(place), new.get(place)


def as_text(workload: Workload) -> str:
    """Return a workload as text that equal objects have in common."""
    return json.dumps(workload.obj, sort_keys=True, default=str)


def _text(built: BuiltWorkload | None) -> str:
    return "" if built is None else as_text(built[0])


def _by_key(workloads: Iterable[BuiltWorkload]) -> dict[WorkloadRef, _Builds]:
    found: dict[WorkloadRef, _Builds] = {}
    numbers: Counter[tuple[WorkloadRef, str]] = Counter()
    for workload, source in workloads:
        if workload.kind.kind != _POD_TEMPLATE and not workload.is_patch:
            key = WorkloadRef.of(workload)
            found.setdefault(key, {})[source.place, numbers[key, source.place]] = workload, source
            numbers[key, source.place] += 1
    return found
