"""Gather what reviews are decided by, from the files that the settings name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from policies.config.context import AdmissionContext, load_context
from policies.config.spread_policy import DefaultsSource, InjectAt, SpreadPolicy
from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN
from policies.model.version import KNOWN_VERSION, KubernetesVersion

if TYPE_CHECKING:
    from policies.scheduler.index import ClusterIndex

#: The built-in document in force where no policy is given.
DEFAULT_POLICY = "builtin:default"


class Sources(Protocol):
    """Where a context is gathered from: the settings of the server, or the options of a command."""

    @property
    def policy(self) -> tuple[str, ...]:
        """SpreadPolicy files, ``-`` or ``builtin:NAME``."""

    @property
    def scheduler_config(self) -> str:
        """A KubeSchedulerConfiguration file, empty for none."""

    @property
    def cluster(self) -> str:
        """A snapshot file, empty for none."""

    @property
    def kubernetes_version(self) -> str:
        """The cluster's release, empty where it is not given."""

    @property
    def workload_kind(self) -> tuple[str, ...]:
        """Descriptions of further kinds with a pod template."""


def build_context(
    settings: Sources,
    warn: Callable[[str], None],
    *,
    live: ClusterIndex | None = None,
    live_version: KubernetesVersion = KNOWN_VERSION,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> AdmissionContext:
    """Read every file once, and refuse to start on one that cannot be used.

    Args:
        settings: Which files.
        warn: Called with each line about what was left out of them.
        live: The cache of a watched cluster, in place of a file.
        live_version: The release where the settings name none.
        seen: Shown every object of the snapshot file.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Settings that do not go together.
    """
    context = load_context(
        _read,
        policies=settings.policy or (DEFAULT_POLICY,),
        scheduler_config=settings.scheduler_config,
        kubernetes_version=settings.kubernetes_version,
        workload_kinds=settings.workload_kind,
        default_version=live_version,
    )
    check_sources(context.policies, context)
    for policy in context.policies:
        knows_cluster = settings.cluster or live is not None
        if policy.defaults and policy.defaults.at is not InjectAt.WORKLOADS and not knows_cluster:
            text = "injects into pods, but none is: no cluster is given (--cluster or --live)"
            warn(f"policy {policy.name} {text}")
    if settings.cluster:
        # Only who has a cluster pays for numpy.
        from webhook.snapshot_file import read_snapshot  # noqa: PLC0415

        return replace(context, cluster=read_snapshot(settings.cluster, warn=warn, seen=seen))
    return replace(context, cluster=live, live=live is not None)


def load_policy_files(settings: Sources, context: AdmissionContext) -> tuple[SpreadPolicy, ...]:
    """Return the policies in the policy files now.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: A policy needs what the server does not have.
    """
    # The commands that share this module mostly have no policies, and do not pay for reading them.
    from policies.config.loader import load_policies  # noqa: PLC0415

    policies = load_policies(settings.policy, _read)
    check_sources(policies, context)
    return policies


def check_sources(policies: Iterable[SpreadPolicy], context: AdmissionContext) -> None:
    """Make sure that what policies take their defaults from is there.

    Raises:
        UsageError: It is not.
    """
    for policy in policies:
        if policy.defaults and policy.defaults.source is DefaultsSource.SCHEDULER and not context.scheduler:
            raise UsageError(
                f"policy {policy.name} takes its defaults from the scheduler: give --scheduler-config"
            )


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
