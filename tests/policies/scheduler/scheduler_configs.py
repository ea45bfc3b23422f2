"""Profiles for the tests of the engine, from KubeSchedulerConfigurations."""

from __future__ import annotations

from typing import Any

from policies.scheduler.configuration import build, config_errors
from policies.scheduler.profile import Profile


def a_config(*profiles: Any, version: str = "v1", **fields: Any) -> dict[str, Any]:
    """Return a configuration of some profiles."""
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
        **fields,
    }


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """Return a profile with arguments of a plugin."""
    return {"pluginConfig": [{"name": plugin, "args": args}]}


def with_plugins(**points: dict[str, Any]) -> dict[str, Any]:
    """Return a profile that enables and disables plugins by name, with weights, at extension points.

    ``with_plugins(score={"NodeResourcesFit": 3, "-ImageLocality": None})`` disables what begins with a dash.
    """
    plugins = {}
    for point, names in points.items():
        enabled = [{"name": name, "weight": weight} for name, weight in names.items() if name[0] != "-"]
        disabled = [{"name": name[1:]} for name in names if name[0] == "-"]
        plugins[point] = {"enabled": enabled, "disabled": disabled}
    return {"plugins": plugins}


def profile_of(raw: dict[str, Any], *, version: str = "v1", **fields: Any) -> Profile:
    """Return the settings of a profile without errors."""
    config = a_config(raw, version=version, **fields)
    assert [] == config_errors(config)
    return build(config).plugins_for(raw.get("schedulerName", ""))


def errors_of(raw: object, **fields: Any) -> list[tuple[str, str]]:
    """Return the field, below the profile, and the text of each error of a profile."""
    errors = config_errors({**a_config(raw), **fields})
    return [(str(error.path).removeprefix("profiles[0]."), error.problem) for error in errors]
