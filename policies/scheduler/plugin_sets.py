"""The plugins of a profile at each extension point: what is configured, merged with the defaults.

Source: ``mergePluginSet``, ``pkg/scheduler/apis/config/v1/default_plugins.go``, and ``updatePluginList``,
``expandMultiPointPlugins`` and ``getValidScoreWeights``, ``pkg/scheduler/framework/runtime/framework.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from policies.manifests.fields import ErrorKind, ErrorList, FieldError, FieldPath, field_names, shown
from policies.scheduler.profile import DEFAULT_PREEMPTION, DEFAULT_SCORES, DYNAMIC_RESOURCES, Plugin, Weighted

#: The point that stands for all others.
MULTI_POINT: Final = "multiPoint"
#: Every extension point of a profile, as ``Plugins`` has them, and the last two as 1.36 does.
POINTS: Final = field_names(
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    MULTI_POINT,
    "placementGenerate",
    "placementScore",
)
_FILTERS: Final = ("preFilter", "filter")
_SCORES: Final = ("preScore", "score")
#: What the plugins of kube-scheduler implement, in the order of the defaults.
IN_TREE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        Plugin.SCHEDULING_GATES: ("preEnqueue",),
        "PrioritySort": ("queueSort",),
        Plugin.NODE_UNSCHEDULABLE: ("filter",),
        Plugin.NODE_NAME: ("filter",),
        Plugin.TAINT_TOLERATION: ("filter", *_SCORES),
        Plugin.NODE_AFFINITY: (*_FILTERS, *_SCORES),
        Plugin.NODE_PORTS: _FILTERS,
        Plugin.NODE_RESOURCES_FIT: (*_FILTERS, *_SCORES, "placementScore"),
        Plugin.VOLUME_RESTRICTIONS: _FILTERS,
        Plugin.NODE_VOLUME_LIMITS: _FILTERS,
        Plugin.VOLUME_BINDING: (*_FILTERS, "reserve", "preBind", *_SCORES),
        Plugin.VOLUME_ZONE: _FILTERS,
        Plugin.POD_TOPOLOGY_SPREAD: (*_FILTERS, *_SCORES),
        Plugin.INTER_POD_AFFINITY: (*_FILTERS, *_SCORES),
        DYNAMIC_RESOURCES: ("preEnqueue", *_FILTERS, "postFilter", "score", "reserve", "preBind"),
        DEFAULT_PREEMPTION: ("postFilter", "preEnqueue"),
        Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: _SCORES,
        Plugin.IMAGE_LOCALITY: ("score",),
        "DefaultBinder": ("bind",),
    }
)
#: The weights that ``v1beta2`` and older versions give by default, where they differ from today's:
#: https://github.com/kubernetes/kubernetes/pull/104251.
OLD_WEIGHTS: Final = (
    (Plugin.TAINT_TOLERATION, 1),
    (Plugin.NODE_AFFINITY, 1),
    (Plugin.INTER_POD_AFFINITY, 1),
)
#: The versions with those weights.
VERSIONS_WITH_OLD_WEIGHTS: Final = ("v1beta2", "v1alpha2")
#: The versions whose points have other names in part.
VERSIONS_WITH_OTHER_POINTS: Final = ("v1alpha2",)

#: The rule that a plugin breaks which is enabled where it cannot be.
PLUGIN_INVALID: Final = "scheduler-plugin-invalid"

_ENTRY: Final = field_names("name", "weight")
_SET: Final = field_names("enabled", "disabled")


@dataclass(frozen=True, slots=True)
class PluginSet:
    """The plugins of one extension point."""

    enabled: tuple[Weighted, ...] = ()  #: In their order; of weight 0 where none is given.
    disabled: frozenset[str] = frozenset()  #: The names of those that are disabled, ``*`` for all.


#: What is configured of each point, ``multiPoint`` among them.
PluginSets = Mapping[str, PluginSet]


def read_plugin_sets(raw: object, path: FieldPath, found: ErrorList, *, version: str) -> PluginSets:
    """Read ``plugins`` of a profile; what kube-scheduler would refuse is recorded."""
    plugins = found.mapping(raw, path)
    if version not in VERSIONS_WITH_OTHER_POINTS:
        found.unknown(plugins, path, known=POINTS)
    return {point: _read_set(plugins.get(point), point, path.child(point), found) for point in POINTS}


def merge(sets: PluginSets, *, version: str) -> PluginSets:
    """Return the configured sets, with the default plugins added at ``multiPoint``.

    A default plugin that is enabled again is replaced in its place, with its weight; one that is disabled and
    enabled comes after the others.

    >>> sets = {"multiPoint": PluginSet(enabled=(Weighted("NodeName", 7), Weighted("Own", 0)))}
    >>> [entry for entry in merge(sets, version="v1")["multiPoint"].enabled if entry.weight == 7]
    [Weighted(name='NodeName', weight=7)]
    """
    custom = sets[MULTI_POINT]
    last = {entry.name: position for position, entry in enumerate(custom.enabled)}
    kept = () if "*" in custom.disabled else _defaults(version)
    kept = tuple(entry for entry in kept if entry.name not in custom.disabled)
    replaced = {last[entry.name] for entry in kept if entry.name in last}
    enabled = [custom.enabled[last[entry.name]] if entry.name in last else entry for entry in kept]
    enabled += (entry for position, entry in enumerate(custom.enabled) if position not in replaced)
    return {**sets, MULTI_POINT: PluginSet(tuple(enabled), custom.disabled)}


def plugins_at(point: str, merged: PluginSets) -> list[str]:
    """Return the plugins that run at an extension point, in their order.

    Those that the point enables again come first, then what ``multiPoint`` enables, then the point's others.
    A plugin that is not in kube-scheduler is taken to implement no point but those that enable it.
    """
    own = dict.fromkeys(entry.name for entry in merged[point].enabled)
    disabled = merged[point].disabled
    if "*" in disabled:
        return list(own)
    everywhere = dict.fromkeys(
        entry.name
        for entry in merged[MULTI_POINT].enabled
        if entry.name not in disabled and point in IN_TREE.get(entry.name, ())
    )
    first = [name for name in own if name in everywhere]
    rest = [name for name in own if name not in everywhere]
    return [*first, *(name for name in everywhere if name not in own), *rest]


def weight_of(name: str, merged: PluginSets) -> int:
    """Return the weight of a plugin that scores: that at ``score`` goes first, and 0 means 1."""
    entries = (*merged["score"].enabled, *merged[MULTI_POINT].enabled)
    return next((entry.weight for entry in entries if entry.name == name), 0) or 1


def out_of_tree(merged: PluginSets) -> Iterator[tuple[str, str]]:
    """Yield the plugins that are not in kube-scheduler, with each extension point that enables them."""
    for point, plugins in merged.items():
        yield from ((point, entry.name) for entry in plugins.enabled if entry.name not in IN_TREE)


def check_required(merged: PluginSets, name: str, path: FieldPath, found: ErrorList) -> None:
    """Record that a profile has no plugin to sort the queue, or none to bind pods.

    Args:
        merged: The plugins, with the defaults.
        name: The scheduler's name.
        path: Where the plugins are.
        found: Takes the errors.
    """
    if any(point == MULTI_POINT for point, _ in out_of_tree(merged)):
        return  # Whether one of those does is not known.
    of = f"for profile with scheduler name {shown(name)}"
    sorting = len(plugins_at("queueSort", merged))
    if sorting != 1:
        _refuse(
            path.child("queueSort"), f"only one queue sort plugin required {of}, but got {sorting}", found
        )
    if not plugins_at("bind", merged):
        _refuse(path.child("bind"), f"at least one bind plugin is needed {of}", found)


def _defaults(version: str) -> tuple[Weighted, ...]:
    weights: dict[str, int] = dict(DEFAULT_SCORES)
    if version in VERSIONS_WITH_OLD_WEIGHTS:
        weights |= OLD_WEIGHTS
    return tuple(Weighted(name, weights.get(name, 0)) for name in IN_TREE)


def _read_set(raw: object, point: str, path: FieldPath, found: ErrorList) -> PluginSet:
    plugins = found.mapping(raw, path)
    found.unknown(plugins, path, known=_SET)
    enabled: list[Weighted] = []
    seen: set[str] = set()
    for where, entry in found.objects(plugins.get("enabled"), path.child("enabled")):
        name = _read_name(entry, where, found)
        if point != MULTI_POINT and point not in IN_TREE.get(name, (point,)):
            text = f"plugin {shown(name)} does not extend {_type_of(point)} plugin"
            _refuse(where.child("name"), text, found)
        if name in seen:
            implemented = [each for each in IN_TREE.get(name, ()) if point in (each, MULTI_POINT)]
            text = f'plugin {shown(name)} already registered as "{_type_of((implemented or [point])[0])}"'
            _refuse(where.child("name"), text, found, ErrorKind.DUPLICATE)
        seen.add(name)
        weight = found.integer(entry.get("weight"), where.child("weight"))
        enabled.append(Weighted(name, weight or 0))
    disabled = found.objects(plugins.get("disabled"), path.child("disabled"))
    return PluginSet(tuple(enabled), frozenset(_read_name(entry, where, found) for where, entry in disabled))


def _read_name(entry: Mapping[str, Any], where: FieldPath, found: ErrorList) -> str:
    found.unknown(entry, where, known=_ENTRY)
    return found.text(entry.get("name"), where.child("name"))


def _type_of(point: str) -> str:
    """Return the type that Kubernetes names an extension point's plugins by.

    >>> _type_of("preFilter")
    'PreFilterPlugin'
    """
    return f"{point[0].upper()}{point[1:]}Plugin"


def _refuse(path: FieldPath, text: str, found: ErrorList, kind: ErrorKind = ErrorKind.INVALID) -> None:
    found.add(FieldError(path, text, kind, PLUGIN_INVALID))
