"""From options to what texts are judged by; libraries that only some options need are imported for those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from policies.config.context import AdmissionContext
from policies.config.lint_config import LintConfig
from policies.config.rule_context import listed_domains
from policies.config.spread_policy import SpreadPolicy
from policies.lint.run import Selection
from policies.manifests.fields import shown_name
from policies.model.topology import ClusterTopology
from policies.model.version import KNOWN_VERSION
from policies.model.workload import WorkloadKinds, parse_workload_kind
from policies.rules.base import all_rules, unknown_rule
from policies.scheduler.releases import parse_release
from webhook.lint.run import Job
from webhook.lint.texts import read_text

if TYPE_CHECKING:
    from policies.scheduler.index import ClusterIndex


def build_job(
    config: LintConfig, *, today: date, warn: Callable[[str], None], cluster: ClusterIndex | None = None
) -> Job:
    """Return what texts are judged by.

    Args:
        config: The options.
        today: The day.
        warn: Told, a line at a time, what was left out of the cluster's file.
        cluster: The nodes of a cluster, in place of a file.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
    """
    context = AdmissionContext(
        policies=_policies(config.policies, warn),
        kubernetes_version=parse_release(config.kubernetes_version or str(KNOWN_VERSION)),
        kinds=WorkloadKinds(map(parse_workload_kind, config.workload_kinds)),
    )
    if config.scheduler_config:
        from policies.scheduler.configuration import load_scheduler_config  # noqa: PLC0415

        content = read_text(config.scheduler_config, named=True).content
        context = replace(context, scheduler=load_scheduler_config(content, config.scheduler_config))
    if cluster is None and config.cluster:
        cluster = _read_cluster(config.cluster, warn)
    context, inventory = _with_cluster(context, cluster)
    return Job(
        context=context,
        selection=Selection(
            select=frozenset(config.select) if config.select else None,
            ignore=frozenset(config.ignore),
            enable=frozenset(config.enable),
        ),
        inventory=inventory,
        today=today,
    )


def _policies(names: tuple[str, ...], warn: Callable[[str], None]) -> tuple[SpreadPolicy, ...]:
    if not names:
        return ()
    from policies.config.loader import load_policies  # noqa: PLC0415  # jsonschema

    policies = load_policies(names, lambda name: read_text(name, named=True).content)
    for policy in policies:
        for rule in policy.rules:
            if rule not in all_rules():
                warn(f"policy {policy.name}: spec.rules[{shown_name(rule)}]: {unknown_rule(rule)}")
    return policies


def _with_cluster(
    context: AdmissionContext, index: ClusterIndex | None
) -> tuple[AdmissionContext, ClusterTopology | None]:
    """Return the context with the cluster, and what is known of its nodes and domains."""
    domains = listed_domains(context.policies)
    if index is None:
        return context, ClusterTopology(domains=domains) if domains else None
    return replace(context, cluster=index), ClusterTopology(nodes=index.nodes.listed(), domains=domains)


def _read_cluster(file: str, warn: Callable[[str], None]) -> ClusterIndex:
    from pathlib import Path  # noqa: PLC0415

    from webhook.kube.snapshot import SnapshotFile  # noqa: PLC0415  # numpy

    source = SnapshotFile(Path("/dev/stdin" if file == "-" else file))
    for problem in source.problems:
        warn(problem)
    return source.index
