"""Put a server together: decide by what, with which certificate, on which socket; then serve."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certs.keypair import KeyPair
from certs.provision import provision_self_signed
from certs.serving import ServingContext
from certs.store import CA_CERTIFICATE, SERVING_CERTIFICATE, SERVING_KEY
from policies.config.context import AdmissionContext
from policies.config.controllers import parse_trusted_controllers
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from policies.placement.cluster_workloads import ClusterWorkloads
from webhook.admission.context import build_context, load_policy_files
from webhook.gunicorn.application import Application, Served
from webhook.gunicorn.listener import open_listener, parse_bind, shown_address
from webhook.http.application import HttpApplication
from webhook.http.authorization.authorizer import Authorizer, build_authorizer
from webhook.http.authorization.mode import access_mode
from webhook.http.problems import problem
from webhook.http.state import ServerState
from webhook.kube.api_server import ClusterError, known_version
from webhook.policy_controller.files import PolicyFiles
from webhook.settings import Settings
from webhook.telemetry import logs
from webhook.telemetry.logs import LOGGER, EventLog, Value, without_waiting
from webhook.telemetry.metrics import Telemetry

if TYPE_CHECKING:
    from policies.model.labels import LabelSelector
    from webhook.cert_rotation.configurations import Configuration, Registration
    from webhook.cert_rotation.controller import CertificateController
    from webhook.kube.client import KubernetesApiServer
    from webhook.kube.election import Elect
    from webhook.kube.informer import ClusterCache
    from webhook.skew.controller import SkewController


#: The folder with the certificates that this server made or fetched, in its private folder.
CERTIFICATES: Final = "certificates"
#: Seconds in which policies of the cluster are noticed once their definition is installed.
_DEFINED_WITHIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Files:
    """Where the certificate is, and the authority that clients can trust if it is known."""

    certificate: Path
    key: Path
    authority: Path | None = None


def serve(settings: Settings, *, folder: Path, version: str) -> None:
    """Serve until told to end; whatever cannot work fails before anything listens.

    Args:
        settings: What to serve.
        folder: A private folder that lives as long as the server.
        version: Of Evenkeel, for the metrics.

    Raises:
        EvenkeelError: A document or an option cannot be used, or the address not be listened on.
        CertificateError: The certificate cannot be served.
    """
    descriptor = without_waiting(sys.stderr.fileno())
    events = EventLog(settings.log_format, settings.log_level, descriptor=descriptor)
    logs.set_up(events, settings.log_level)
    host, _ = parse_bind(settings.bind)
    workloads = _workloads(settings)
    live = _follow(settings, workloads)
    # First, because it waits for an API server that is away: the release is asked for once.
    files = _certificate_files(settings, folder, host)
    context = _context(settings, live, workloads)
    telemetry = Telemetry(version)
    certificates = _serving_context(settings, files, telemetry)
    state = ServerState(
        settings=settings,
        context=context,
        telemetry=telemetry,
        events=events,
        certificate=lambda: certificates.pair,
        workloads=workloads,
        live=live,
        keeper=_keeper(settings, folder, live) if settings.cert_secret else None,
        access=_guard(settings, telemetry),
        skew=_skew(settings, live, telemetry),
    )
    _follow_policies(state)
    _tell_validity(certificates.pair, state.now())
    listener = open_listener(settings.bind)
    app = HttpApplication(state)
    served = Served(
        asgi=app,
        at_once=app.at_once,
        listener=listener,
        ssl_context=certificates.context,
        error_body=problem,
        begin_drain=lambda: _begin_drain(state),
        tick=app.tick,
        when_ready=_announcement(shown_address(listener), state, files),
        begin_work=state.begin,
        prepared=state.prepared,
        end_work=state.end,
        forget_worker=telemetry.forget_process,
    )
    Application(settings, served).run()


def _follow(settings: Settings, workloads: ClusterWorkloads) -> ClusterCache | None:
    """Return what follows the live cluster if that is asked for; it connects after the fork only."""
    if not settings.live:
        return None
    from webhook.kube.informer import ClusterCache  # noqa: PLC0415  # with it comes numpy

    return ClusterCache(_connect(settings), workloads=workloads, max_age_s=settings.max_snapshot_age_s)


def _workloads(settings: Settings) -> ClusterWorkloads:
    """Return what holds the workloads of the cluster as they come from a file or an API server."""
    kinds = WorkloadKinds(map(parse_workload_kind, settings.workload_kind))
    if not settings.live:
        return ClusterWorkloads(kinds)
    from webhook.kube.workload_store import followed_workloads  # noqa: PLC0415  # with it comes numpy

    return followed_workloads(kinds, pending_pods=settings.measures_skew)


def _context(settings: Settings, live: ClusterCache | None, workloads: ClusterWorkloads) -> AdmissionContext:
    if live is None:
        context = build_context(settings, _warn, seen=workloads)
    else:
        context = build_context(settings, _warn, live=live.index, live_version=_live_version(settings))
    return replace(context, trusted_controllers=parse_trusted_controllers(settings.trusted_controller))


def _follow_policies(state: ServerState) -> None:
    """Have changes of policies put into force: of files, and of the cluster if it is followed."""
    from webhook.policy_controller.controller import PolicyController  # noqa: PLC0415

    settings = state.settings
    default = () if settings.policy else tuple(state.context.policies)
    given = tuple(state.context.policies) if settings.policy else ()
    files = PolicyFiles(settings.policy, given, lambda: load_policy_files(settings, state.context))
    state.policies = controller = PolicyController(files, default=default, enforce=state.enforce)
    if not settings.live:
        return
    from webhook.kube.backoff import Backoff  # noqa: PLC0415
    from webhook.kube.list import SPREAD_POLICIES  # noqa: PLC0415
    from webhook.kube.reflector import Reflector  # noqa: PLC0415
    from webhook.policy_controller.resources import PolicyResources  # noqa: PLC0415

    has_scheduler_config = state.context.scheduler is not None
    resources = PolicyResources(controller.changed, has_scheduler_config=has_scheduler_config)
    # The definition may be installed at any time.
    backoff = Backoff(longest_refused_s=_DEFINED_WITHIN_S)
    api = _connect(settings)
    reflector = Reflector(
        api, SPREAD_POLICIES, resources, clock=time.monotonic, backoff=backoff, keep_last=True
    )
    controller.watch(resources, reflector)
    if settings.policy_status and state.live is not None and state.live.store is not None:
        from webhook.policy_controller.status_writer import PolicyStatusWriter  # noqa: PLC0415

        state.status_writer = PolicyStatusWriter(
            api,
            resources,
            state.live.store.workloads,
            context=state.usable_context,
            elect=_candidate(api, f"{settings.lease}-status"),
        )


def _serving_context(settings: Settings, files: _Files, telemetry: Telemetry) -> ServingContext:
    return ServingContext(
        files.certificate,
        files.key,
        client_ca=Path(settings.client_ca) if settings.client_ca else None,
        on_change=_CertificateReporter(telemetry, files.certificate),
    )


def _guard(settings: Settings, telemetry: Telemetry) -> Authorizer:
    api = _connect(settings) if settings.live else None
    return build_authorizer(settings, api, places=max(1, settings.threads // 4), count=telemetry.count_access)


def _live_version(settings: Settings) -> KubernetesVersion:
    """Return the release of the live cluster, as far as it is known."""
    if settings.kubernetes_version:
        return KNOWN_VERSION
    try:
        return known_version(_connect(settings), _warn)
    except ClusterError as error:
        _warn(f"the cluster does not say its release ({error}): taken to be {KNOWN_VERSION}")
        return KNOWN_VERSION


def _keeper(settings: Settings, folder: Path, live: ClusterCache | None = None) -> CertificateController:
    """Return what keeps the certificate of a Secret, for one process."""
    from webhook.cert_rotation.controller import CertificateController  # noqa: PLC0415
    from webhook.cert_rotation.reconcile import Reconciler, Target  # noqa: PLC0415

    api = _connect(settings)
    place = Target(
        namespace=api.namespace,
        secret=settings.cert_secret,
        service=settings.service,
        webhooks=settings.webhooks,
    )

    rotation = Reconciler(api, place, now=lambda: datetime.now(UTC))
    return CertificateController(
        rotation,
        folder / CERTIFICATES,
        elect=_candidate(api, settings.lease),
        judge=_registration_judge(settings, api, live),
    )


def _registration_judge(
    settings: Settings, api: KubernetesApiServer, live: ClusterCache | None
) -> Callable[[Configuration], Registration]:
    """Return what tells what a webhook configuration makes the API server send."""
    from webhook.cert_rotation.configurations import registration  # noqa: PLC0415
    from webhook.kube.list import LABELED_OBJECTS  # noqa: PLC0415
    from webhook.kube.selected import selects_any  # noqa: PLC0415

    kinds = WorkloadKinds(map(parse_workload_kind, settings.workload_kind)).values()

    def namespaces() -> list[dict[str, str]] | None:
        if live is None or not live.synced:
            return None
        return [namespace.labels for namespace in list(live.index.snapshot.namespaces.values())]

    def selects(selector: LabelSelector) -> bool:
        try:
            return live is None or selects_any(api, LABELED_OBJECTS, selector)
        except ClusterError:
            # What is not known is no fault.
            return True

    return lambda configuration: registration(configuration, kinds, namespaces=namespaces(), selects=selects)


def _candidate(api: KubernetesApiServer, lease: str) -> Elect:
    """Return what stands for election by a Lease."""
    from webhook.kube.election import lead  # noqa: PLC0415  # with it comes the client

    def elect(started: Callable[[], None], stopped: Callable[[], None]) -> Callable[[], None]:
        # A pod's host name is its own name; each of its workers stands for itself.
        identity = f"{socket.gethostname()}-{os.getpid()}"
        return lead(api, lease, identity=identity, started=started, stopped=stopped)

    return elect


def _skew(settings: Settings, live: ClusterCache | None, telemetry: Telemetry) -> SkewController | None:
    """Return what measures how workloads are spread, if that is wanted."""
    if live is None or live.store is None or not settings.measures_skew:
        return None
    from webhook.skew.controller import SkewController, SkewSink  # noqa: PLC0415
    from webhook.skew.event_writer import EventWriter  # noqa: PLC0415
    from webhook.skew.exporter import SkewExporter  # noqa: PLC0415

    api, sinks = _connect(settings), list[SkewSink]()
    if settings.skew_metrics:
        sinks.append(SkewExporter(telemetry, settings.skew_metrics))
    if settings.skew_events:
        sinks.append(EventWriter(api, instance=socket.gethostname()))
    return SkewController(live.store, elect=_candidate(api, f"{settings.lease}-skew"), sinks=sinks)


def _connect(settings: Settings) -> KubernetesApiServer:
    """Return a way to the cluster, for one process: connections are not shared with those it forks."""
    from webhook.kube.client import connect  # noqa: PLC0415  # only who needs a cluster waits for the client

    return connect(settings.context)


def _warn(problem: str) -> None:
    LOGGER.warning("left_out", extra={"fields": {"problem": problem}})


def _certificate_files(settings: Settings, folder: Path, host: str) -> _Files:
    if settings.self_signed:
        # An address that stands for all of them is no name that a client could use.
        hosts = [] if host in {"0.0.0.0", "::"} else [host]  # noqa: S104  # compared, not bound
        made = provision_self_signed(folder / CERTIFICATES, hosts, now=datetime.now(UTC))
        return _Files(made.certificate, made.key, made.ca)
    if settings.cert_secret:
        keeper = _keeper(settings, folder)
        keeper.provision()
        return _Files(keeper.certificate, keeper.key)
    if settings.cert:
        return _Files(Path(settings.cert), Path(settings.key))
    given = Path(settings.cert_dir)
    authority = given / CA_CERTIFICATE
    return _Files(given / SERVING_CERTIFICATE, given / SERVING_KEY, authority if authority.exists() else None)


class _CertificateReporter:
    """Reports certificates to log and metrics; the first one is no news."""

    def __init__(self, telemetry: Telemetry, file: Path) -> None:
        self._telemetry = telemetry
        self._file = file
        self._first = True

    def __call__(self, pair: KeyPair, problem: str) -> None:
        self._telemetry.certificate_loaded(pair.not_before.timestamp(), pair.not_after.timestamp())
        if self._first:
            self._first = False
            return
        self._telemetry.certificate_reloaded(succeeded=not problem)
        fields = {"file": str(self._file), "expires": pair.not_after.isoformat()}
        if problem:
            LOGGER.error("certificate_refused", extra={"fields": {**fields, "reason": problem}})
        else:
            LOGGER.info("certificate_loaded", extra={"fields": fields})


def _tell_validity(pair: KeyPair, now: datetime) -> None:
    """Log that no client will accept the certificate."""
    if pair.expired(now):
        LOGGER.error("certificate_expired", extra={"fields": {"expired": pair.not_after.isoformat()}})
    elif pair.not_yet_valid(now):
        LOGGER.error("certificate_not_yet_valid", extra={"fields": {"begins": pair.not_before.isoformat()}})


def _begin_drain(state: ServerState) -> None:
    state.draining = True
    LOGGER.info("draining", extra={"fields": {"seconds": state.settings.drain_s}})


def _announcement(address: str, state: ServerState, files: _Files) -> Callable[[], None]:
    """Return what says once where the server is and what it decides by."""
    fields: dict[str, Value] = {
        "url": f"https://{address}",
        "policies": ",".join(policy.name for policy in state.context.policies) or "none",
        "cluster": "live" if state.live else state.settings.cluster or "none",
        "kubernetes": str(state.context.kubernetes_version),
        "access": access_mode(state.settings).value,
        "workers": state.settings.workers,
        "threads": state.settings.threads,
    }
    if state.context.cluster is not None and state.live is None:
        fields |= {"nodes": state.context.cluster.node_count, "pods": state.context.cluster.pod_count}
    if files.authority:
        fields["ca"] = str(files.authority)
    return lambda: LOGGER.info("serving", extra={"fields": fields})
