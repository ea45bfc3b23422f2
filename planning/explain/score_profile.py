"""The differences of a kube-scheduler profile from the default profile, in words."""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.sanitize import one_line
from policies.scheduler.profile import (
    DEFAULT_PREEMPTION,
    DEFAULT_PROFILE,
    DEFAULT_RESOURCES,
    FitArgs,
    Plugin,
    Profile,
    StrategyType,
)


def differences(profile: Profile) -> list[str]:
    """Return the differences from the default profile; empty for one that is the same."""
    return [one_line(text) for text in (*_plugins(profile), *_arguments(profile))]


def profile_name(profile: Profile) -> str:
    """Return how a sentence names a profile."""
    if profile == DEFAULT_PROFILE:
        return "the default profile"
    return f"profile {one_line(profile.scheduler_name)}"


def profile_text(profile: Profile) -> Iterator[str]:
    """Yield the differences of a profile from the default one, as a sentence; none for the same."""
    differing = differences(profile)
    if differing:
        yield f"Scheduled by {profile_name(profile)}: {'; '.join(differing)}."


def unmodeled_text(profile: Profile) -> Iterator[str]:
    """Yield the parts of a profile that are not modeled, as a sentence; none if all are."""
    if names := not_modeled(profile):
        more = ", and may reject more nodes" if profile.may_reject_more else ""
        yield f"Not modeled{more}: {', '.join(names)}."


def not_modeled(profile: Profile) -> list[str]:
    """Return the parts of a profile that are not modeled in one result."""
    return [*profile.unmodeled, *([profile.sampling] if profile.sampling else [])]


def _plugins(profile: Profile) -> Iterator[str]:
    unscored = [plugin for plugin, _ in DEFAULT_PROFILE.scores if not profile.weight(plugin)]
    unfiltered = [plugin for plugin in DEFAULT_PROFILE.filters if plugin not in profile.filters]
    for plugin, default in DEFAULT_PROFILE.scores:
        weight = profile.weight(plugin)
        if weight not in (0, default):
            yield f"{plugin} has weight {weight} (default {default})"
    if unscored:
        yield f"without score plugins {', '.join(unscored)}" + _idle(unscored, "ScheduleAnyway")
    if unfiltered:
        yield f"without filter plugins {', '.join(unfiltered)}" + _idle(unfiltered, "DoNotSchedule")
    if Plugin.NODE_AFFINITY in profile.filters and not profile.filters_by_affinity:
        yield f"{Plugin.NODE_AFFINITY} filters by node names alone"
    if DEFAULT_PREEMPTION not in profile.post_filters:
        yield "no pod is preempted"


def _idle(missing: list[Plugin], action: str) -> str:
    spreads = Plugin.POD_TOPOLOGY_SPREAD in missing
    return f" ({action} constraints have no effect)" if spreads else ""


def _arguments(profile: Profile) -> Iterator[str]:
    fit = profile.fit
    if fit.strategy is not StrategyType.LEAST_ALLOCATED or fit.resources != DEFAULT_RESOURCES:
        yield f"{Plugin.NODE_RESOURCES_FIT} scores by {_strategy(fit)}"
    if ignored := sorted(fit.ignored | {f"{group}/*" for group in fit.ignored_groups}):
        yield f"{Plugin.NODE_RESOURCES_FIT} ignores {', '.join(ignored)}"
    if profile.balanced_resources != DEFAULT_PROFILE.balanced_resources:
        yield f"{Plugin.NODE_RESOURCES_BALANCED_ALLOCATION} compares {', '.join(profile.balanced_resources)}"
    if profile.added_affinity.terms is not None:
        yield f"{Plugin.NODE_AFFINITY} adds required node affinity to every pod"
    if profile.added_affinity.preferred:
        yield f"{Plugin.NODE_AFFINITY} adds preferred node affinity to every pod"
    if profile.hard_pod_affinity_weight != DEFAULT_PROFILE.hard_pod_affinity_weight:
        yield f"{Plugin.INTER_POD_AFFINITY} has hardPodAffinityWeight {profile.hard_pod_affinity_weight}"
    if profile.ignores_preferred_terms:
        yield f"{Plugin.INTER_POD_AFFINITY} ignores preferred terms of existing pods"


def _strategy(fit: FitArgs) -> str:
    text = str(fit.strategy)
    if fit.shape:
        text += " with shape " + ", ".join(f"{utilization}%: {score}" for utilization, score in fit.shape)
    if fit.resources == DEFAULT_RESOURCES:
        return text
    return f"{text} of {', '.join(f'{name} (weight {weight})' for name, weight in fit.resources)}"
