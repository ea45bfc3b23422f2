"""The plugins that kube-scheduler makes of a profile, in Go's steps; shares no code with ``policies``.

Source: ``mergePluginSet``, ``default_plugins.go``; ``updatePluginList``, ``expandMultiPointPlugins`` and
``getValidScoreWeights``, ``framework/runtime/framework.go``; ``defaults.go``; Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

#: The default plugins at multiPoint, with their weights, and what each implements: p(refilter), f(ilter),
#: q (PreScore), s(core), o (PostFilter), e (PreEnqueue).
DEFAULTS = [
    ("SchedulingGates", 0, "e"),
    ("PrioritySort", 0, ""),
    ("NodeUnschedulable", 0, "f"),
    ("NodeName", 0, "f"),
    ("TaintToleration", 3, "fqs"),
    ("NodeAffinity", 2, "pfqs"),
    ("NodePorts", 0, "pf"),
    ("NodeResourcesFit", 1, "pfqs"),
    ("PodTopologySpread", 2, "pfqs"),
    ("InterPodAffinity", 2, "pfqs"),
    ("DynamicResources", 2, "epfos"),
    ("DefaultPreemption", 0, "eo"),
    ("NodeResourcesBalancedAllocation", 1, "qs"),
    ("ImageLocality", 1, "s"),
    ("DefaultBinder", 0, ""),
]
IMPLEMENTS = {name: points for name, _, points in DEFAULTS}
POINTS = {
    "preEnqueue": "e",
    "preFilter": "p",
    "filter": "f",
    "postFilter": "o",
    "preScore": "q",
    "score": "s",
}


@dataclass(frozen=True)
class Settings:
    """The plugins that run, and their arguments."""

    at: Mapping[str, list[str]]  #: The plugins of each extension point, in their order.
    weights: Mapping[str, int]  #: Of the plugins that score.
    args: Mapping[str, Object] = field(default_factory=dict)  #: Of each plugin that is configured.

    def runs(self, plugin: str, *points: str) -> bool:
        """Tell whether a plugin runs at every one of some points."""
        return all(plugin in self.at[point] for point in points)


def settings_of(profile: Object) -> Settings:
    """Return the settings of a profile."""
    plugins = profile.get("plugins") or {}
    default = {"enabled": [{"name": name, "weight": weight} for name, weight, _ in DEFAULTS]}
    multi = merged(default, plugins.get("multiPoint") or {})
    own = {point: merged({}, plugins.get(point) or {}) for point in POINTS}
    weights: dict[str, int] = {}
    for entry in own["score"]["enabled"] + multi["enabled"]:
        if "s" in IMPLEMENTS[entry["name"]]:
            weights.setdefault(entry["name"], entry.get("weight") or 1)
    args = {entry["name"]: entry.get("args") or {} for entry in profile.get("pluginConfig") or ()}
    at = {point: expanded(own[point], multi, letter) for point, letter in POINTS.items()}
    return Settings(at, weights, args)


def merged(default: Object, custom: Object) -> Object:
    """Merge a configured set of plugins into the default one."""
    disabled = {entry["name"] for entry in custom.get("disabled") or ()}
    wanted = {entry["name"]: (at, entry) for at, entry in enumerate(custom.get("enabled") or ())}
    enabled, replaced = [], set()
    if "*" not in disabled:
        for entry in default.get("enabled") or ():
            if entry["name"] in disabled:
                continue
            if entry["name"] in wanted:
                position, new = wanted[entry["name"]]
                replaced.add(position)
                enabled.append(new)
            else:
                enabled.append(entry)
    enabled += [entry for at, entry in enumerate(custom.get("enabled") or ()) if at not in replaced]
    return {"enabled": enabled, "disabled": disabled}


def expanded(own: Object, multi: Object, letter: str) -> list[str]:
    """Return the plugins of one extension point: overridden ones, those of multiPoint, then the others."""
    enabled = [entry["name"] for entry in own["enabled"]]
    if "*" in own["disabled"]:
        return enabled
    overrides: list[str] = []
    from_multi: list[str] = []
    for entry in multi["enabled"]:
        name = entry["name"]
        if letter not in IMPLEMENTS[name] or name in own["disabled"]:
            continue
        (overrides if name in enabled else from_multi).append(name)
    first = [name for name in enabled if name in overrides]
    return first + from_multi + [name for name in enabled if name not in overrides]


#: kube-scheduler without a configuration file.
DEFAULT = settings_of({})
