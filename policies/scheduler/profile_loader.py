"""From a profile of a KubeSchedulerConfiguration to a ``Profile``, with what all profiles share.

Source: ``setDefaults_KubeSchedulerProfile``, ``pkg/scheduler/apis/config/v1/defaults.go``, and
``validateKubeSchedulerProfile``, ``pkg/scheduler/apis/config/validation``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldPath, invalid_value
from policies.manifests.sanitize import one_line
from policies.scheduler.plugin_args import READERS
from policies.scheduler.plugin_sets import (
    MULTI_POINT,
    PluginSets,
    check_required,
    merge,
    out_of_tree,
    plugins_at,
    read_plugin_sets,
    weight_of,
)
from policies.scheduler.profile import DEFAULT_POST_FILTERS, DEFAULT_SCHEDULER, Plugin, Profile

#: The rule that a percentage of nodes breaks which is none.
PERCENTAGE_INVALID: Final = "scheduler-percentage-invalid"
#: The rule that an extender breaks which would weigh nothing.
EXTENDER_INVALID: Final = "scheduler-extender-invalid"
#: The arguments of each plugin, with where they are.
Arguments = Mapping[str, tuple[FieldPath, Mapping[str, Any]]]

#: The plugins whose Filter fails without what their PreFilter writes, and whose Score without PreScore.
_NEEDING_PREFILTER: Final = frozenset(
    {
        Plugin.NODE_PORTS,
        Plugin.NODE_RESOURCES_FIT,
        Plugin.VOLUME_RESTRICTIONS,
        Plugin.VOLUME_BINDING,
        Plugin.POD_TOPOLOGY_SPREAD,
        Plugin.INTER_POD_AFFINITY,
    }
)
_NEEDING_PRESCORE: Final = frozenset(
    {Plugin.TAINT_TOLERATION, Plugin.POD_TOPOLOGY_SPREAD, Plugin.INTER_POD_AFFINITY}
)
#: The points at which a plugin rejects no node.
_HARMLESS_POINTS: Final = frozenset(
    {"queueSort", "postFilter", "preScore", "score", "bind", "postBind", "placementScore"}
)
_MOST_PERCENT: Final = 100


def load_profile(
    raw: Mapping[str, Any], arguments: Arguments, path: FieldPath, found: ErrorList, *, version: str
) -> Profile:
    """Read which plugins a profile runs, and how; what kube-scheduler would refuse is recorded.

    Args:
        raw: The profile.
        arguments: Of its plugins.
        path: Where the profile is.
        found: Takes the errors.
        version: The version of the document.
    """
    where = path.child("plugins")
    name = found.text(raw.get("schedulerName"), path.child("schedulerName")) or DEFAULT_SCHEDULER
    merged = merge(read_plugin_sets(raw.get("plugins"), where, found, version=version), version=version)
    check_required(merged, name, where, found)
    given: dict[str, Any] = {}
    for plugin, read in READERS.items():
        if plugin in arguments:
            at, args = arguments[plugin]
            given |= read(args, at, found)
    runs = {point: plugins_at(point, merged) for point in ("preFilter", "filter", "preScore", "score")}
    incomplete = list(_incomplete(runs))
    filters, scores = _filters(runs, plugins_at("preEnqueue", merged)), _scores(runs)
    foreign = dict.fromkeys(out_of_tree(merged))
    return Profile(
        scheduler_name=name,
        filters=tuple(filters),
        scores=tuple((plugin, weight_of(plugin, merged)) for plugin in scores),
        post_filters=tuple(
            plugin for plugin in plugins_at("postFilter", merged) if plugin in DEFAULT_POST_FILTERS
        ),
        narrows_by_name=Plugin.NODE_AFFINITY in runs["preFilter"],
        filters_by_affinity=Plugin.NODE_AFFINITY in runs["filter"],
        percentage_of_nodes_to_score=_read_percentage(raw, path, found),
        unmodeled=(*_foreign(foreign, merged), *incomplete),
        may_reject_more=bool(incomplete) or any(point not in _HARMLESS_POINTS for point, _ in foreign),
        **given,
    )


@dataclass(frozen=True, slots=True)
class SharedSettings:
    """The settings of a configuration that all of its profiles share."""

    percentage: int | None  #: ``percentageOfNodesToScore``.
    has_extenders: bool  #: Whether there are extenders.
    may_reject_more: bool  #: Whether one of them filters nodes.

    @classmethod
    def read(cls, config: Mapping[str, Any], found: ErrorList) -> SharedSettings:
        """Read them; what kube-scheduler would refuse is recorded."""
        extenders = list(found.objects(config.get("extenders"), FieldPath().child("extenders")))
        for path, extender in extenders:
            weight = found.integer(extender.get("weight"), path.child("weight"), bits=64)
            if extender.get("prioritizeVerb") and weight is not None and weight <= 0:
                text = "must have a positive weight applied to it"
                found.add(invalid_value(path.child("weight"), weight, text, EXTENDER_INVALID))
        filtering = any(extender.get("filterVerb") for _, extender in extenders)
        return cls(_read_percentage(config, FieldPath(), found), bool(extenders), filtering)

    def added_to(self, profile: Profile) -> Profile:
        """Return a profile with them; the profile's own percentage goes first."""
        own = profile.percentage_of_nodes_to_score
        return replace(
            profile,
            percentage_of_nodes_to_score=self.percentage if own is None else own,
            unmodeled=(*profile.unmodeled, *(("extenders",) if self.has_extenders else ())),
            may_reject_more=profile.may_reject_more or self.may_reject_more,
        )


def _read_percentage(raw: Mapping[str, Any], path: FieldPath, found: ErrorList) -> int | None:
    """Read ``percentageOfNodesToScore`` of a profile, or of all."""
    name = "percentageOfNodesToScore"
    if raw.get(name) is None:
        return None
    percentage = found.integer(raw[name], path.child(name))
    if percentage is not None and not 0 <= percentage <= _MOST_PERCENT:
        text = f"not in valid range [0-{_MOST_PERCENT}]"
        found.add(invalid_value(path.child(name), percentage, text, PERCENTAGE_INVALID))
    return percentage


def _filters(runs: Mapping[str, list[str]], held_back_by: Iterable[str]) -> Iterator[Plugin]:
    """Yield the plugins that reject nodes, in their order."""
    if Plugin.SCHEDULING_GATES in held_back_by:
        yield Plugin.SCHEDULING_GATES
    if Plugin.NODE_AFFINITY in runs["preFilter"] and Plugin.NODE_AFFINITY not in runs["filter"]:
        yield Plugin.NODE_AFFINITY
    modeled = (Plugin(name) for name in runs["filter"] if name in list(Plugin))
    yield from (name for name in modeled if name not in _NEEDING_PREFILTER or name in runs["preFilter"])


def _scores(runs: Mapping[str, list[str]]) -> Iterator[Plugin]:
    """Yield the plugins that score nodes, in their order."""
    # VolumeBinding scores only with the feature gate StorageCapacityScoring, which is off by default.
    modeled = (
        Plugin(name) for name in runs["score"] if name in list(Plugin) and name != Plugin.VOLUME_BINDING
    )
    yield from (name for name in modeled if name not in _NEEDING_PRESCORE or name in runs["preScore"])


def _incomplete(runs: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the plugins that fail on every pod, as a plugin does that misses what another point writes."""
    for point, before, needing in (
        ("filter", "preFilter", _NEEDING_PREFILTER),
        ("score", "preScore", _NEEDING_PRESCORE),
    ):
        for name in runs[point]:
            if name in needing and name not in runs[before]:
                yield f"{name} at {point} without {before} (kube-scheduler fails on every pod there)"


def _foreign(foreign: Iterable[tuple[str, str]], merged: PluginSets) -> Iterator[str]:
    """Yield the plugins that are not in kube-scheduler, in words."""
    points: dict[str, list[str]] = {}
    for point, name in foreign:
        points.setdefault(name, []).append("every point" if point == MULTI_POINT else point)
    for name, at in points.items():
        weight = f", weight {weight_of(name, merged)}" if {"score", "every point"} & set(at) else ""
        yield f"plugin {one_line(name)} ({', '.join(at)}{weight})"
