"""From the names of files and the texts of options to what decisions depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policies.config.context import AdmissionContext
from policies.config.spread_policy import SpreadPolicy
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from policies.scheduler.configuration import load_scheduler_config
from policies.scheduler.releases import parse_release


def load_context(
    read: Callable[[str], bytes],
    *,
    policies: Iterable[str] = (),
    scheduler_config: str | None = None,
    kubernetes_version: str | None = None,
    workload_kinds: Iterable[str] = (),
    default_version: KubernetesVersion = KNOWN_VERSION,
) -> AdmissionContext:
    """Load everything but the cluster.

    Args:
        read: Returns the content of a file.
        policies: SpreadPolicy files, or ``builtin:NAME``.
        scheduler_config: A KubeSchedulerConfiguration file; empty for none.
        kubernetes_version: The cluster's release; empty for the default.
        workload_kinds: Descriptions of further kinds with a pod template.
        default_version: The release where none is named.

    Raises:
        DocumentError: A file is not what it should be.
        UsageError: The release or a kind is none.
    """
    kinds = WorkloadKinds(map(parse_workload_kind, workload_kinds))
    return AdmissionContext(
        policies=_load_policies(tuple(policies), read),
        scheduler=load_scheduler_config(read(scheduler_config), scheduler_config)
        if scheduler_config
        else None,
        kubernetes_version=parse_release(kubernetes_version) if kubernetes_version else default_version,
        kinds=kinds,
    )


def _load_policies(names: tuple[str, ...], read: Callable[[str], bytes]) -> tuple[SpreadPolicy, ...]:
    if not names:
        return ()
    # Only a program with policies pays for jsonschema.
    from policies.config.loader import load_policies  # noqa: PLC0415

    return load_policies(names, read)
