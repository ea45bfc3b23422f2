"""KubeSchedulerConfiguration: the profiles of kube-scheduler, and which default constraints each gives a pod.

A profile that disables PodTopologySpread gives no defaults: kube-scheduler still validates the arguments, but
runs the plugin at no extension point. Disabled at Filter (or PreFilter) alone, its hard constraints have no
effect; at Score (or PreScore) alone, its soft ones have none.

Source: ``ValidateKubeSchedulerConfiguration``, ``pkg/scheduler/apis/config/validation``, Kubernetes 1.36.
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
    invalid_value,
    required_value,
    type_name,
    unsupported_value,
)
from policies.manifests.sanitize import one_line
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.validation import default_constraint_errors
from policies.scheduler.profile import DEFAULT_PROFILE, DEFAULT_SCHEDULER, Plugin, Profile
from policies.scheduler.profile_loader import Arguments, SharedSettings, load_profile

#: The kind of the document.
KIND = "KubeSchedulerConfiguration"
#: The group of every version.
GROUP = "kubescheduler.config.k8s.io"
#: The versions that are read. v1alpha2 (Kubernetes 1.18) has no ``defaultingType``: there a list is a List.
VERSIONS = ("v1", "v1beta3", "v1beta2", "v1alpha2")
#: The version without ``defaultingType``.
VERSION_WITHOUT_DEFAULTING = "v1alpha2"
#: The plugin.
PLUGIN = Plugin.POD_TOPOLOGY_SPREAD
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
#: The rule that profiles break which sort one queue differently.
QUEUE_SORT_DIFFERS = "scheduler-queue-sort-differs"
#: The rule that a profile with two configurations of a plugin breaks.
PLUGIN_CONFIG_REPEATED = "scheduler-plugin-config-repeated"

_ARGUMENTS = field_names("apiVersion", "kind", "defaultConstraints", "defaultingType")
_PROFILES = FieldPath().child("profiles")
#: The fields of a configuration of version v1, and of a profile of any version.
_CONFIG = field_names(
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
)
_PROFILE = field_names("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig")
_PLUGIN_CONFIG = field_names("name", "args")


class DefaultingType(StrEnum):
    """Whether a profile uses the built-in constraints or a list of its own."""

    SYSTEM = "System"
    LIST = "List"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerProfile:
    """One profile, and what it gives to pods without constraints."""

    scheduler_name: str = DEFAULT_SCHEDULER  #: The ``schedulerName`` of the pods it schedules.
    defaulting_type: DefaultingType = DefaultingType.SYSTEM  #: Where its constraints come from.
    #: Those that have an effect; empty where the plugin is disabled.
    constraints: tuple[Constraint, ...] = SYSTEM_CONSTRAINTS
    plugins: Profile = DEFAULT_PROFILE  #: The plugins that it runs.


class UnknownSchedulerError(Exception):
    """No known configuration has a profile for the scheduler of some pods."""

    def __init__(self, scheduler_name: str) -> None:
        super().__init__(f"needs the profile of scheduler {one_line(scheduler_name)} (--scheduler-config)")


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """The profiles of one kube-scheduler."""

    profiles: Mapping[str, SchedulerProfile]  #: By scheduler name.
    #: The profile of every other scheduler name; None if there is none.
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

    def plugins_for(self, scheduler_name: str) -> Profile:
        """Return the plugins that a pod's scheduler runs; a scheduler that is not configured is not known.

        >>> DEFAULT_CONFIG.plugins_for("volcano").unmodeled
        ('scheduler volcano (its profile is not known)',)
        """
        profile = self.profile_for(scheduler_name)
        if profile is not None:
            return profile.plugins
        unknown = f"scheduler {one_line(scheduler_name)} (its profile is not known)"
        return replace(
            DEFAULT_PROFILE, scheduler_name=scheduler_name, unmodeled=(unknown,), may_reject_more=True
        )


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
    found = ErrorList()
    config = _read(documents[0].value, found)
    problems = documents[0].problems(found.errors)
    if problems:
        raise DocumentError(problems)
    return config


def config_errors(value: object) -> list[FieldError]:
    """Return everything in a configuration that kube-scheduler would refuse, as far as it is read here."""
    found = ErrorList()
    _read(value, found)
    return found.errors


def build(value: Mapping[str, Any]) -> SchedulerConfig:
    """Build the profiles of a configuration without errors (``config_errors``)."""
    return _read(value, ErrorList())


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


def _read(value: object, found: ErrorList) -> SchedulerConfig:
    foreign = _kind_error(value)
    if foreign is not None:
        found.add(foreign)
        return DEFAULT_CONFIG
    config = found.mapping(value, FieldPath())
    version = _version(config)
    if version == VERSIONS[0]:
        found.unknown(config, FieldPath(), known=_CONFIG)
    shared = SharedSettings.read(config, found)
    # Without profiles there is one, of which everything is the default.
    raw = _profiles(config, found) or [(_PROFILES.index(0), {})]
    profiles = [_read_profile(entry, path, found, version=version) for path, entry in raw]
    _check_names(raw, found)
    _check_queue_sort(raw, found)
    profiles = [replace(each, plugins=shared.added_to(each.plugins)) for each in profiles]
    return SchedulerConfig({each.scheduler_name: each for each in profiles})


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


def _check_queue_sort(profiles: list[tuple[FieldPath, dict[str, Any]]], found: ErrorList) -> None:
    """Record profiles that sort the queue, which all share, otherwise than the first."""
    sorting = [_queue_sort(profile) for _, profile in profiles]
    for (path, _), own in zip(profiles, sorting, strict=True):
        if own != sorting[0]:
            where = path.child("plugins", "queueSort")
            found.add(invalid_value(where, own, "must be the same for all profiles", QUEUE_SORT_DIFFERS))


def _queue_sort(profile: Mapping[str, Any]) -> object:
    plugins = profile.get("plugins")
    return (plugins.get("queueSort") or {}) if isinstance(plugins, dict) else {}


def _read_profile(
    raw: Mapping[str, Any], path: FieldPath, found: ErrorList, *, version: str
) -> SchedulerProfile:
    found.unknown(raw, path, known=_PROFILE)
    arguments = _read_arguments(raw, path.child("pluginConfig"), found)
    plugins = load_profile(raw, arguments, path, found, version=version)
    profile = _read_defaults(arguments, found, version=version)
    constraints = (entry for entry in profile.constraints if plugins.spreads(entry.when_unsatisfiable))
    return replace(
        profile, scheduler_name=plugins.scheduler_name, constraints=tuple(constraints), plugins=plugins
    )


def _read_arguments(raw: Mapping[str, Any], path: FieldPath, found: ErrorList) -> Arguments:
    """Return the arguments of each plugin that is configured, with where they are."""
    arguments: dict[str, tuple[FieldPath, Mapping[str, Any]]] = {}
    for where, entry in found.objects(raw.get("pluginConfig"), path):
        found.unknown(entry, where, known=_PLUGIN_CONFIG)
        name = found.text(entry.get("name"), where.child("name"))
        if name in arguments:
            found.add(duplicate_value(where.child("name"), name, PLUGIN_CONFIG_REPEATED))
            continue
        at = where.child("args")
        arguments[name] = at, found.mapping(entry.get("args"), at)
    return arguments


def _read_defaults(arguments: Arguments, found: ErrorList, *, version: str) -> SchedulerProfile:
    """Read PodTopologySpreadArgs."""
    path, args = arguments.get(PLUGIN, (FieldPath(), {}))
    found.unknown(args, path, known=_ARGUMENTS)
    errors = default_constraint_errors(_defaulted(args, version), path)
    found.extend(errors)
    return SchedulerProfile() if errors else build_profile(args, version=version)


def _defaulted(arguments: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the plugin's arguments with the ``defaultingType`` that the version takes an absent one for."""
    has_list = arguments.get("defaultConstraints") is not None
    is_list = has_list and version == VERSION_WITHOUT_DEFAULTING
    implied = DefaultingType.LIST if is_list else DefaultingType.SYSTEM
    kind = arguments.get("defaultingType")
    return {**arguments, "defaultingType": str(implied) if kind in (None, "") else kind}


def _constraint(raw: Mapping[str, Any]) -> Constraint:
    return Constraint.parse({name: value for name, value in raw.items() if name != "matchLabelKeys"})
