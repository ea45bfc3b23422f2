"""The components of a server, made from its settings: what follows the cluster, policies, certificates, skew.

What only some servers have is imported when it is made: with the cluster comes numpy, and with the way to it
the kubernetes client.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policies.config.controllers import parse_trusted_controllers
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from webhook.admission.context import build_context, load_policy_files
from webhook.admission.current_context import CurrentContext
from webhook.component import Elect
from webhook.fork_server import ChildProcesses, ForkServer, ToldStore
from webhook.forked import ResourceLimits
from webhook.kube.api_server import ClusterError, known_version
from webhook.policy_controller.controller import PolicyController, PolicyFiles
from webhook.registration import RegistrationDifferences, Surroundings, compare
from webhook.settings import Role, Settings
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import Telemetry

if TYPE_CHECKING:
    from policies.config.policy_set import PolicySet
    from policies.model.labels import LabelSelector
    from webhook.cert_rotation.cluster_objects import Configuration
    from webhook.cert_rotation.controller import CertificateController
    from webhook.kube.client import KubernetesApiServer
    from webhook.kube.informer import ClusterCache
    from webhook.policy_controller.status_writer import PolicyStatusWriter
    from webhook.skew.controller import SkewController

#: What measuring a part of the workloads may take: far more than it does.
_OF_SKEW: Final = ResourceLimits(timeout_s=60.0, memory_bytes=128 * 2**20)
#: The folder with the certificates that this server made or fetched, in its private folder.
CERTIFICATES: Final = "certificates"


def cluster_cache(
    settings: Settings, workloads: ClusterWorkloads, tell: Callable[..., Any] | None = None
) -> ClusterCache | None:
    """Return the cache of the live cluster, None without ``--live``; it connects after the fork only.

    Args:
        settings: Which cluster, and how old its cache may be.
        workloads: What is to hold the workloads.
        tell: Tells another process of each object, to keep it there; None to keep it in this one.
    """
    if not settings.live:
        return None
    from webhook.kube.informer import ClusterCache  # noqa: PLC0415  # with it comes numpy

    return ClusterCache(
        connect_to(settings),
        workloads=workloads,
        told=None if tell is None else ToldStore(tell),
        max_age_s=settings.max_snapshot_age_s,
    )


def cluster_workloads(settings: Settings, role: Role) -> ClusterWorkloads:
    """Return the store of the cluster's workloads, as they come from a file or an API server."""
    kinds = WorkloadKinds(map(parse_workload_kind, settings.workload_kind))
    if not settings.live:
        return ClusterWorkloads(kinds)
    from webhook.workload_store import followed_workloads  # noqa: PLC0415  # with it comes numpy

    return followed_workloads(kinds, pending_pods=role is Role.API and settings.measures_skew)


def current_context(
    settings: Settings, cache: ClusterCache | None, workloads: ClusterWorkloads
) -> CurrentContext:
    """Return the context of reviews: files, and the cluster of a file or of an API server.

    Raises:
        EvenkeelError: A document or an option cannot be used.
    """
    if cache is None:
        context = build_context(settings, _warn, seen=workloads)
    else:
        context = build_context(settings, _warn, live=cache.index, live_version=_live_version(settings))
    trusted = parse_trusted_controllers(settings.trusted_controller)
    context = replace(context, trusted_controllers=trusted, defaults=settings.defaults)
    return CurrentContext(context, cache, max_age_s=settings.max_snapshot_age_s)


def policy_controller(
    settings: Settings, current: CurrentContext, enforce: Callable[[PolicySet], None]
) -> PolicyController:
    """Return the controller that enforces changed policies: of files, and of the cluster if watched."""
    begun_with = tuple(current.context.policies)
    default, given = ((), begun_with) if settings.policy else (begun_with, ())
    files = PolicyFiles(settings.policy, given, lambda: load_policy_files(settings, current.context))
    controller = PolicyController(files, default=default, enforce=enforce)
    if settings.live:
        _watch_policies(settings, controller, has_scheduler_config=current.context.scheduler is not None)
    return controller


def _watch_policies(settings: Settings, controller: PolicyController, *, has_scheduler_config: bool) -> None:
    """Have the policies of the cluster followed, too."""
    from webhook.kube.reflector import Reflector  # noqa: PLC0415
    from webhook.kube.watched_resources import SPREAD_POLICIES  # noqa: PLC0415
    from webhook.policy_controller.controller import PolicyResources  # noqa: PLC0415

    resources = PolicyResources(controller.changed, has_scheduler_config=has_scheduler_config)
    reflector = Reflector(connect_to(settings), SPREAD_POLICIES, resources, keep_last=True)
    controller.watch(resources, reflector)


def status_writer(
    settings: Settings, cache: ClusterCache | None, policies: PolicyController, current: CurrentContext
) -> PolicyStatusWriter | None:
    """Return the writer of the status of the cluster's policies; None if that is not wanted."""
    if not settings.policy_status or policies.resources is None or cache is None or cache.store is None:
        return None
    from webhook.policy_controller.status_writer import PolicyStatusWriter  # noqa: PLC0415

    api = connect_to(settings)
    return PolicyStatusWriter(
        api,
        policies.resources,
        cache.store.workloads,
        context=current.usable,
        elect=_candidate(api, f"{settings.lease}-status"),
    )


def _live_version(settings: Settings) -> KubernetesVersion:
    """Return the release of the live cluster, as far as it is known."""
    if settings.kubernetes_version:
        return KNOWN_VERSION
    try:
        return known_version(connect_to(settings), _warn)
    except ClusterError as error:
        _warn(f"the cluster does not say its release ({error}): taken to be {KNOWN_VERSION}")
        return KNOWN_VERSION


def certificate_controller(
    settings: Settings, folder: Path, cache: ClusterCache | None = None
) -> CertificateController:
    """Return the controller that keeps the certificate of a Secret, for one process."""
    from certs.names import Target  # noqa: PLC0415
    from webhook.cert_rotation.controller import CertificateController  # noqa: PLC0415
    from webhook.cert_rotation.reconcile import Reconciler  # noqa: PLC0415

    api = connect_to(settings)
    place = Target(
        namespace=api.namespace,
        secret=settings.cert_secret,
        service=settings.service,
        webhooks=settings.webhooks,
    )

    rotation = Reconciler(api, place, now=partial(datetime.now, UTC))
    return CertificateController(
        rotation,
        folder / CERTIFICATES,
        elect=_candidate(api, settings.lease),
        judge=_registration_judge(settings, api, cache),
    )


def _registration_judge(
    settings: Settings, api: KubernetesApiServer, cache: ClusterCache | None
) -> Callable[[Configuration], RegistrationDifferences]:
    """Return the function that compares a webhook configuration with what this release installs."""
    from webhook.kube.list import selects_any  # noqa: PLC0415
    from webhook.kube.watched_resources import LABELED_OBJECTS  # noqa: PLC0415

    kinds = WorkloadKinds(map(parse_workload_kind, settings.workload_kind)).values()

    def selects(selector: LabelSelector) -> bool:
        try:
            return cache is None or selects_any(api, LABELED_OBJECTS, selector)
        except ClusterError:
            # What is not known is no fault.
            return True

    def judge(configuration: Configuration) -> RegistrationDifferences:
        found = cache.index.snapshot.namespaces if cache is not None and cache.synced else {}
        known = Surroundings(
            namespace=api.namespace,
            kinds=kinds,
            namespaces={name: namespace.labels for name, namespace in list(found.items())},
            selects=lru_cache(selects),
        )
        return compare(configuration.kind, configuration.name, configuration.webhooks, known)

    return judge


def _candidate(api: KubernetesApiServer, lease: str) -> Elect:
    """Return the function that runs for election by a Lease."""
    from webhook.kube.election import lead  # noqa: PLC0415  # with it comes the client

    return partial(lead, api, lease)


def skew_controller(
    settings: Settings, forks: ForkServer, current: CurrentContext, telemetry: Telemetry
) -> SkewController | None:
    """Return the controller that measures the skew of workloads; None if that is not wanted."""
    if not settings.measures_skew:
        return None
    from webhook.skew.controller import SkewController, SkewSink  # noqa: PLC0415
    from webhook.skew.event_writer import EventWriter  # noqa: PLC0415
    from webhook.telemetry.skew_metrics import SkewExporter  # noqa: PLC0415

    api, sinks = connect_to(settings), list[SkewSink]()
    if settings.skew_metrics:
        sinks.append(SkewExporter(telemetry, settings.skew_metrics))
    if settings.skew_events:
        sinks.append(EventWriter(api, instance=socket.gethostname()))
    elect = _candidate(api, f"{settings.lease}-skew")
    measuring = ChildProcesses(forks, _OF_SKEW)
    return SkewController(measuring.run, lambda: current.usable().withheld, elect=elect, sinks=sinks)


def connect_to(settings: Settings) -> KubernetesApiServer:
    """Return a way to the cluster, for one process: connections are not shared with those it forks."""
    from webhook.kube.client import connect  # noqa: PLC0415  # only who needs a cluster waits for the client

    return connect(settings.context)


def _warn(problem: str) -> None:
    LOGGER.warning("left_out", extra={"fields": {"problem": problem}})
