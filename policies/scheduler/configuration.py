"""KubeSchedulerConfiguration: which default constraints each profile of kube-scheduler gives a pod.

Only what concerns PodTopologySpread is read. A profile that disables the
plugin gives no defaults: kube-scheduler still validates the arguments, but runs the plugin at no extension
point. Disabled at Filter (or PreFilter) alone, its hard constraints have no effect; at Score (or PreScore)
alone, its soft ones have none.

Source: ``mergePlugins`` and ``expandMultiPointPlugins`` of kube-scheduler 1.36, and
``ValidateKubeSchedulerConfiguration``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    field_names,
    required_value,
    type_name,
    unsupported_value,
)
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.validation import default_constraint_errors

#: The kind of the document.
KIND = "KubeSchedulerConfiguration"
#: The group of every version.
GROUP = "kubescheduler.config.k8s.io"
#: The versions that are read. v1alpha2 (Kubernetes 1.18) has no ``defaultingType``: there a list is a List.
VERSIONS = ("v1", "v1beta3", "v1beta2", "v1alpha2")
#: The version without ``defaultingType``.
VERSION_WITHOUT_DEFAULTING = "v1alpha2"
#: The plugin.
PLUGIN = "PodTopologySpread"
#: The scheduler's name where a profile or a pod gives none.
DEFAULT_SCHEDULER = "default-scheduler"

#: What kube-scheduler spreads by where nothing is configured: ``systemDefaultConstraints``,
#: ``podtopologyspread/plugin.go``, Kubernetes 1.36.
SYSTEM_CONSTRAINTS = (
    Constraint(
        max_skew=3,
        topology_key="kubernetes.io/hostname",
        when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY,
    ),
    Constraint(
        max_skew=5,
        topology_key="topology.kubernetes.io/zone",
        when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY,
    ),
)

#: The rule that a document of another kind or version breaks.
CONFIG_UNKNOWN = "scheduler-config-unknown"
#: The rule that profiles break whose names are missing or repeated.
PROFILE_NAME_INVALID = "scheduler-profile-name-invalid"
#: The rule that a profile with two configurations of a plugin breaks.
PLUGIN_CONFIG_REPEATED = "scheduler-plugin-config-repeated"

_ARGUMENTS = field_names("apiVersion", "kind", "defaultConstraints", "defaultingType")
_PROFILES = FieldPath().child("profiles")
#: The extension points at which each kind of constraint works; without any of them it has no effect.
_HARD_POINTS = ("multiPoint", "preFilter", "filter")
_SOFT_POINTS = ("multiPoint", "preScore", "score")


class DefaultingType(StrEnum):
    """Whether a profile uses the built-in constraints or a list of its own."""

    SYSTEM = "System"
    LIST = "List"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerProfile:
    """What one profile gives to pods without constraints.

    Attributes:
        scheduler_name: The ``schedulerName`` of the pods it schedules.
        defaulting_type: Where its constraints come from.
        constraints: Those that have an effect; empty where the plugin is disabled.
    """

    scheduler_name: str = DEFAULT_SCHEDULER
    defaulting_type: DefaultingType = DefaultingType.SYSTEM
    constraints: tuple[Constraint, ...] = SYSTEM_CONSTRAINTS


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """The profiles of one kube-scheduler.

    Attributes:
        profiles: By scheduler name.
        fallback: The profile of every other scheduler name; None if there is none.
    """

    profiles: Mapping[str, SchedulerProfile]
    fallback: SchedulerProfile | None = None

    def profile_for(self, scheduler_name: str) -> SchedulerProfile | None:
        """Return the profile of a pod's scheduler, None if it is not in the configuration."""
        return self.profiles.get(scheduler_name or DEFAULT_SCHEDULER, self.fallback)

    def constraints_for(self, scheduler_name: str) -> tuple[Constraint, ...]:
        """Return the default constraints of a pod's scheduler; none for one that is not in the configuration.

        >>> [c.max_skew for c in DEFAULT_CONFIG.constraints_for("default-scheduler")]
        [3, 5]
        """
        profile = self.profile_for(scheduler_name)
        return () if profile is None else profile.constraints


#: kube-scheduler without a configuration file.
DEFAULT_CONFIG = SchedulerConfig({DEFAULT_SCHEDULER: SchedulerProfile()})


def load_scheduler_config(source: str | bytes, file: str) -> SchedulerConfig:
    """Read the one configuration of a file.

    Raises:
        DocumentError: It cannot be read or kube-scheduler would refuse it; holds every problem.
    """
    documents = load_strictly(source, file)
    if len(documents) != 1:
        raise DocumentError([f"{file}: must hold one {KIND}, holds {len(documents)} documents"])
    problems = documents[0].problems(config_errors(documents[0].value))
    if problems:
        raise DocumentError(problems)
    return build(documents[0].value)


def config_errors(value: object) -> list[FieldError]:
    """Return everything in a configuration that kube-scheduler would refuse, as far as it is read here."""
    foreign = _kind_error(value)
    if foreign is not None:
        return [foreign]
    found = ErrorList()
    config = found.mapping(value, FieldPath())
    version = _version(config)
    profiles = _profiles(config, found)
    for path, profile in profiles:
        _check_profile(profile, path, found, version=version)
    _check_names(profiles, found)
    return found.errors


def build(value: Mapping[str, Any]) -> SchedulerConfig:
    """Build the profiles of a configuration without errors (``config_errors``)."""
    version = _version(value)
    profiles = [_profile(raw, version) for _, raw in _profiles(value, ErrorList())]
    if not profiles:
        return DEFAULT_CONFIG
    return SchedulerConfig({profile.scheduler_name: profile for profile in profiles})


def argument_errors(arguments: Mapping[str, Any], path: FieldPath) -> list[FieldError]:
    """Return everything that kube-scheduler would refuse in the plugin's arguments, version v1."""
    return default_constraint_errors(_defaulted(arguments, VERSIONS[0]), path)


def build_profile(arguments: Mapping[str, Any], *, version: str = VERSIONS[0]) -> SchedulerProfile:
    """Build the profile of a scheduler whose plugin has such arguments, if they are without errors."""
    kind = DefaultingType(_defaulted(arguments, version)["defaultingType"])
    constraints: tuple[Constraint, ...] = SYSTEM_CONSTRAINTS
    if kind is DefaultingType.LIST:
        constraints = tuple(map(_constraint, arguments.get("defaultConstraints") or ()))
    return SchedulerProfile(defaulting_type=kind, constraints=constraints)


def _kind_error(value: object) -> FieldError | None:
    if not isinstance(value, dict):
        text = f"must be a {KIND}, got {type_name(value)}"
        return FieldError(FieldPath(), text, ErrorKind.INVALID, CONFIG_UNKNOWN)
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind != KIND:
        return unsupported_value(FieldPath().child("kind"), kind, [KIND], CONFIG_UNKNOWN)
    versions = [f"{GROUP}/{name}" for name in VERSIONS]
    if version not in versions:
        return unsupported_value(FieldPath().child("apiVersion"), version, versions, CONFIG_UNKNOWN)
    return None


def _version(config: Mapping[str, Any]) -> str:
    return str(config["apiVersion"]).rpartition("/")[2]


def _profiles(config: Mapping[str, Any], found: ErrorList) -> list[tuple[FieldPath, dict[str, Any]]]:
    """Return the profiles with their paths; a single mapping, as old examples write it, is one profile."""
    raw = config.get("profiles")
    if isinstance(raw, dict):
        return [(_PROFILES, raw)]
    return list(found.objects(raw, _PROFILES))


def _check_names(profiles: list[tuple[FieldPath, dict[str, Any]]], found: ErrorList) -> None:
    first: dict[str, FieldPath] = {}
    for path, profile in profiles:
        where, name = path.child("schedulerName"), profile.get("schedulerName")
        if not name and len(profiles) > 1:
            text = "must be set when there are several profiles"
            found.add(required_value(where, text, PROFILE_NAME_INVALID))
        if isinstance(name, str) and name and first.setdefault(name, where) is not where:
            detail = f"also set in {first[name]}"
            found.add(duplicate_value(where, name, PROFILE_NAME_INVALID, detail=detail))


def _check_profile(profile: Mapping[str, Any], path: FieldPath, found: ErrorList, *, version: str) -> None:
    found.text(profile.get("schedulerName"), path.child("schedulerName"))
    seen: set[str] = set()
    for where, entry in found.objects(profile.get("pluginConfig"), path.child("pluginConfig")):
        name = found.text(entry.get("name"), where.child("name"))
        if name in seen:
            found.add(duplicate_value(where.child("name"), name, PLUGIN_CONFIG_REPEATED))
        seen.add(name)
        if name == PLUGIN:
            arguments = found.mapping(entry.get("args"), where.child("args"))
            found.unknown(arguments, where.child("args"), known=_ARGUMENTS)
            found.extend(default_constraint_errors(_defaulted(arguments, version), where.child("args")))
    plugins = found.mapping(profile.get("plugins"), path.child("plugins"))
    for point in dict.fromkeys(_HARD_POINTS + _SOFT_POINTS):
        _point(plugins, point, path.child("plugins"), found)


def _defaulted(arguments: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the plugin's arguments with the ``defaultingType`` that the version takes an absent one for."""
    has_list = arguments.get("defaultConstraints") is not None
    is_list = has_list and version == VERSION_WITHOUT_DEFAULTING
    implied = DefaultingType.LIST if is_list else DefaultingType.SYSTEM
    kind = arguments.get("defaultingType")
    return {**arguments, "defaultingType": str(implied) if kind in (None, "") else kind}


def _point(plugins: Mapping[str, Any], point: str, path: FieldPath, found: ErrorList) -> bool | None:
    """Return whether a profile enables (True) or disables (False) the plugin at an extension point."""
    where = path.child(point)
    settings = found.mapping(plugins.get(point), where)
    named = {
        side: [
            found.text(entry.get("name"), at.child("name"))
            for at, entry in found.objects(settings.get(side), where.child(side))
        ]
        for side in ("enabled", "disabled")
    }
    if PLUGIN in named["enabled"]:
        return True
    return False if {PLUGIN, "*"} & set(named["disabled"]) else None


def _profile(raw: Mapping[str, Any], version: str) -> SchedulerProfile:
    entries = ErrorList().objects(raw.get("pluginConfig"), FieldPath())
    arguments = next((entry.get("args") or {} for _, entry in entries if entry.get("name") == PLUGIN), {})
    profile = build_profile(arguments, version=version)
    return replace(
        profile,
        scheduler_name=raw.get("schedulerName") or DEFAULT_SCHEDULER,
        constraints=_effective(profile.constraints, raw.get("plugins") or {}),
    )


def _constraint(raw: Mapping[str, Any]) -> Constraint:
    return Constraint.parse({name: value for name, value in raw.items() if name != "matchLabelKeys"})


def _effective(constraints: tuple[Constraint, ...], plugins: Mapping[str, Any]) -> tuple[Constraint, ...]:
    """Return the constraints whose extension points the profile leaves enabled."""
    return tuple(
        constraint
        for constraint in constraints
        if _runs(
            plugins,
            _HARD_POINTS
            if constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
            else _SOFT_POINTS,
        )
    )


def _runs(plugins: Mapping[str, Any], points: tuple[str, ...]) -> bool:
    """Return whether the plugin runs at all of some extension points; ``multiPoint`` means all the others."""
    everywhere, *single = (_point(plugins, point, FieldPath(), ErrorList()) for point in points)
    return all(everywhere is not False if setting is None else setting for setting in single)
