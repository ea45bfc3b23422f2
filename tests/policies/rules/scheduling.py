"""Builders of KubeSchedulerConfigurations."""

from __future__ import annotations

from typing import Any


def a_scheduler_config(*profiles: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration of some profiles."""
    version = "kubescheduler.config.k8s.io/v1"
    return {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": list(profiles)}


def a_packing_profile(plugins: dict[str, Any], *, strategy: str = "MostAllocated") -> dict[str, Any]:
    """Return a profile that scores nodes by how full they are."""
    arguments = {"scoringStrategy": {"type": strategy}}
    return {"plugins": plugins, "pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}]}
