"""The features of kube-scheduler that the corpus covers, and which fields of an answer show each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from policies.scheduler.profile import Plugin

_SPREAD: Final = str(Plugin.POD_TOPOLOGY_SPREAD)
#: The fields that only kube-scheduler's whole profile decides.
_OF_PROFILE: Final = frozenset(
    {"nodes.total", "best", "message", "condition", "engine.best", "engine.condition"}
)


class AnswerField(NamedTuple):
    """A field of an answer, such as ``nodes.rejections`` of the plugin NodeAffinity."""

    name: str  #: Its path in the answer, without indices.
    plugin: str = ""  #: The plugin that it is about; empty for a field about the whole pod.

    def __str__(self) -> str:
        """Return it as reports write it."""
        return f"{self.name}[{self.plugin}]" if self.plugin else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature."""

    id: str  #: Its name in cases and on the command line.
    title: str  #: What it is.
    #: Whether only PodTopologySpread's part of an answer shows it; otherwise all fields do.
    spread_only: bool = True

    def concerns(self, field: AnswerField) -> bool:
        """Return whether a field of an answer shows how the feature works."""
        if not self.spread_only:
            return True
        return field.plugin == _SPREAD if field.plugin else field.name not in _OF_PROFILE


#: Every feature, in the order of reports.
FEATURES: Final = (
    Feature(id="KEP-895", title="PodTopologySpread: constraints of the pod"),
    Feature(id="KEP-3022", title="minDomains"),
    Feature(id="KEP-3094", title="nodeAffinityPolicy and nodeTaintsPolicy"),
    Feature(id="KEP-3243", title="matchLabelKeys of constraints"),
    Feature(id="system-defaults", title="default constraints, defaultingType System"),
    Feature(id="list-defaults", title="default constraints, defaultingType List"),
    Feature(id="releases", title="behavior of releases before the newest", spread_only=False),
    Feature(id="filters", title="the other filter plugins", spread_only=False),
    Feature(id="KEP-1287", title="resources of pods resized in place", spread_only=False),
    Feature(id="KEP-2837", title="resources of a whole pod", spread_only=False),
    Feature(id="KEP-5471", title="tolerations with operators Gt and Lt", spread_only=False),
    Feature(id="profile", title="the whole default profile, scores included", spread_only=False),
    Feature(id="volumes", title="claims, volumes, classes and CSI drivers", spread_only=False),
    Feature(id="preemption", title="preemption of pods of lower priority", spread_only=False),
    Feature(id="sequences", title="pods scheduled one after another", spread_only=False),
)
#: The same by id.
FEATURES_BY_ID: Final = {feature.id: feature for feature in FEATURES}


def features_of(ids: frozenset[str]) -> Iterator[Feature]:
    """Yield the features of these ids, in the order of reports."""
    return (feature for feature in FEATURES if feature.id in ids)
