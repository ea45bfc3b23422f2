"""The programs of a control plane: in ``$KUBEBUILDER_ASSETS``, as envtest has it, or on the PATH."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: Without these there is no control plane.
_NEEDED = ("etcd", "kube-apiserver", "kubectl")


@dataclass(frozen=True, slots=True)
class Assets:
    """Where each program is."""

    etcd: str
    api_server: str
    kubectl: str
    #: Envtest's assets have none: then nobody makes ReplicaSets of Deployments and pods of ReplicaSets.
    controller_manager: str | None
    #: Envtest's assets have none: then no pod gets a node but by a test.
    scheduler: str | None


def find_assets(environment: Mapping[str, str]) -> Assets | None:
    """Return the programs, or None where one is missing without which there is no control plane."""
    if missing_assets(environment):
        return None
    etcd, api_server, kubectl = (_found(name, environment) or "" for name in _NEEDED)
    controller_manager, scheduler = (
        _found(name, environment) for name in ("kube-controller-manager", "kube-scheduler")
    )
    return Assets(etcd, api_server, kubectl, controller_manager, scheduler)


def missing_assets(environment: Mapping[str, str]) -> str:
    """Return the last message of a run that has no control plane, empty if it has one."""
    missing = " and no ".join(name for name in _NEEDED if _found(name, environment) is None)
    if not missing:
        return ""
    return (
        f"NOTHING WAS TESTED END TO END: there is no {missing} in $KUBEBUILDER_ASSETS. "
        "This fetches what is needed and prints the folder: "
        "go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path"
    )


def _found(name: str, environment: Mapping[str, str]) -> str | None:
    """Return where a program is. An API server on the PATH was not put there for tests."""
    folder = environment.get("KUBEBUILDER_ASSETS", "")
    found = shutil.which(name, path=str(Path(folder).absolute())) if folder else None
    if found is None and name != "kube-apiserver":
        found = shutil.which(name, path=environment.get("PATH"))
    return found
