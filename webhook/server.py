"""Put a server together: decide by what, with which certificate, on which socket; then serve."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from certs.keypair import KeyPair
from certs.keyring import CA_CERTIFICATE, SERVING_CERTIFICATE, SERVING_KEY
from certs.serving import ServingContext
from certs.store import provision_self_signed
from webhook import assembly
from webhook.assembly import CERTIFICATES
from webhook.component import Component
from webhook.fork_server import ForkServer
from webhook.forked import spare_collector
from webhook.gunicorn.application import Application, options_of
from webhook.http.application import HttpApplication
from webhook.http.authorization.authorizer import Authorizer, access_mode, build_authorizer, is_loopback
from webhook.http.body import Receive, Scope, Send
from webhook.http.path_tokens import PathTokens
from webhook.http.state import HELD, ServerState
from webhook.listener import open_listener, parse_bind, shown_address
from webhook.settings import Role, Settings
from webhook.telemetry import logs
from webhook.telemetry.logs import LOGGER, EventLog, Value, without_waiting
from webhook.telemetry.metrics import Telemetry

if TYPE_CHECKING:
    from policies.config.policy_set import PolicySet

#: The socket of the process that answers the API, in the server's folder.
API_SOCKET: Final = "api.sock"
#: The signals that end a worker. They wait while one is forked: until it begins it would handle them as its
#: parent does, and Python forgets those that come before its first line.
_ENDING: Final = (signal.SIGTERM, signal.SIGQUIT)


def _now() -> datetime:
    return datetime.now(UTC)


class ServedCertificate(Component):
    """The certificate that is served, by the clock of this machine."""

    def __init__(self, served: Callable[[], KeyPair], now: Callable[[], datetime] = _now) -> None:
        """Nothing is read yet.

        Args:
            served: Returns the certificate.
            now: The clock.
        """
        self._served = served
        self._now = now

    def problem(self) -> str:
        """Return why the certificate is not valid now; empty if it is."""
        served, now = self._served(), self._now()
        if served.not_after <= now:
            return f"certificate expired at {served.not_after:%Y-%m-%dT%H:%M:%SZ}"
        if now < served.not_before:
            return f"certificate is not valid before {served.not_before:%Y-%m-%dT%H:%M:%SZ}"
        return ""


class CertificateReporter:
    """Reports certificates to log and metrics; the first one is no news."""

    def __init__(self, telemetry: Telemetry, file: Path) -> None:
        self._telemetry = telemetry
        self._file = file
        self._first = True

    def __call__(self, pair: KeyPair, problem: str) -> None:
        """Report that a pair is served; the problem is that of a newer one, empty if there is none."""
        self._telemetry.certificate_begin.set(pair.not_before.timestamp())
        self._telemetry.certificate_expiry.set(pair.not_after.timestamp())
        if self._first:
            self._first = False
            return
        self._telemetry.certificate_reloads.labels("failed" if problem else "loaded").inc()
        fields = {"file": str(self._file), "expires": pair.not_after.isoformat()}
        if problem:
            LOGGER.error("certificate_refused", extra={"fields": {**fields, "reason": problem}})
        else:
            LOGGER.info("certificate_loaded", extra={"fields": fields})


def report_validity(pair: KeyPair, now: datetime) -> None:
    """Log that no client will accept a certificate."""
    if pair.expired(now):
        LOGGER.error("certificate_expired", extra={"fields": {"expired": pair.not_after.isoformat()}})
    elif pair.not_yet_valid(now):
        LOGGER.error("certificate_not_yet_valid", extra={"fields": {"begins": pair.not_before.isoformat()}})


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
    # First, because it waits for an API server that is away: the release is requested once.
    certificate, key = _certificate_files(settings, folder, host)
    telemetry = Telemetry(version)
    certificates = _serving_context(settings, certificate, key, telemetry)
    roles = Roles(
        {
            role: _server_state(settings, role, folder, certificates, telemetry=telemetry, events=events)
            for role in ((Role.ADMISSION, Role.API) if settings.role is Role.ALL else (settings.role,))
        }
    )
    report_validity(certificates.pair, roles.state.now())
    listener = open_listener(settings.bind)
    told_to_all = not (settings.path_tokens or settings.client_ca or is_loopback(settings.bind))
    if told_to_all and (settings.live or settings.cluster):
        why = "who reaches the port learns of the cluster from reviews: give --path-tokens or --client-ca"
        LOGGER.warning("cluster_told_to_all", extra={"fields": {"why": why}})
    hooks: dict[str, Callable[..., None]] = {
        "when_ready": _announcement(shown_address(listener.getsockname()), roles.state, certificate),
        "pre_fork": lambda _arbiter, _worker: _prepare_fork(),
        "post_fork": lambda _arbiter, worker: roles.take(worker),
        "post_worker_init": lambda _worker: _begin(roles.state),
        "worker_exit": lambda _arbiter, _worker: roles.state.end(),
        "child_exit": lambda _arbiter, worker: telemetry.forget_process(worker.pid),
    }
    os.register_at_fork(after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _ENDING))
    Application(roles, options_of(settings, listener, certificates.context) | hooks).run()


def _prepare_fork() -> None:
    # What exists now lives as long as the server.
    spare_collector()
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


def _begin(state: ServerState) -> None:
    """Begin in a new worker; before threads and processes do, which would have the signals blocked."""
    signal.signal(signal.SIGTERM, state.end_soon)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    state.begin()


class Roles:
    """The ASGI callable of every worker, of which each takes one role: one the API, if there are two."""

    #: The state of the role that the process has; of reviews, before it has taken one.
    state: ServerState

    def __init__(self, states: Mapping[Role, ServerState]) -> None:
        self._states = states
        self._applications = {role: HttpApplication(state) for role, state in states.items()}
        self._turn: IO[bytes] | None = None
        self._become(next(iter(states)))

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a request."""
        return self._answer(scope, receive, send)

    def take(self, worker: Any) -> None:  # gunicorn's
        """Take a role, in a new worker: the API, if no living one has it."""
        for application in self._applications.values():
            application.parent = worker.ppid
        path = self.state.api_socket
        if path is None:
            return
        turn = path.with_suffix(".lock").open("wb")
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            turn.close()
            return
        # It ends with the process, however that ends.
        self._turn = turn
        self._become(Role.API)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        worker.sockets = [listener]

    def _become(self, role: Role) -> None:
        self.state, self._answer = self._states[role], self._applications[role]


def _server_state(
    settings: Settings,
    role: Role,
    folder: Path,
    certificates: ServingContext,
    *,
    telemetry: Telemetry,
    events: EventLog,
) -> ServerState:
    """Return the state that processes of a role begin with, with every component."""
    forks, of_api = ForkServer(HELD), role is Role.API
    workloads = assembly.cluster_workloads(settings, role)
    cache = assembly.cluster_cache(settings, workloads, forks.tell if of_api else None)
    current = assembly.current_context(settings, cache, workloads)

    def enforce(policies: PolicySet) -> None:
        current.enforce(policies)
        if of_api:
            forks.tell("enforce", pickle.dumps(policies))

    policies = assembly.policy_controller(settings, current, enforce)
    tokens = PathTokens(Path(settings.path_tokens)) if settings.path_tokens else None
    components: list[Component | None] = [current, policies]
    if of_api:
        components.append(assembly.skew_controller(settings, forks, current, telemetry))
    else:
        components += [tokens, assembly.status_writer(settings, cache, policies, current)]
    # Who keeps the certificate checks it by the clock of the API server, which verifies it. It stops
    # first: another replica waits for its Lease, and time may run out.
    components.append(
        assembly.certificate_controller(settings, folder, cache)
        if settings.cert_secret and not of_api
        else ServedCertificate(lambda: certificates.pair)
    )
    return ServerState(
        settings=settings,
        role=role,
        api_socket=folder / API_SOCKET if settings.role is Role.ALL and not of_api else None,
        forks=forks,
        current=current,
        telemetry=telemetry,
        events=events,
        components=[component for component in components if component is not None],
        path_tokens=tokens,
        workloads=(lambda: workloads) if cache is None or cache.store is None else cache.store.workloads,
        with_policy=policies.with_policy,
        access=_authorizer(settings, telemetry),
    )


def _serving_context(
    settings: Settings, certificate: Path, key: Path, telemetry: Telemetry
) -> ServingContext:
    return ServingContext(
        certificate,
        key,
        client_ca=Path(settings.client_ca) if settings.client_ca else None,
        on_change=CertificateReporter(telemetry, certificate),
    )


def _authorizer(settings: Settings, telemetry: Telemetry) -> Authorizer:
    """Return the authorizer of the routes that show the contents of the cluster."""
    api = assembly.connect_to(settings) if settings.live else None
    return build_authorizer(
        settings,
        api,
        places=max(1, settings.threads // 4),
        count=lambda result: telemetry.access.labels(result).inc(),
    )


def _certificate_files(settings: Settings, folder: Path, host: str) -> tuple[Path, Path]:
    if settings.self_signed:
        # An address that stands for all of them is no name that a client could use.
        hosts = [] if host in {"0.0.0.0", "::"} else [host]  # noqa: S104  # compared, not bound
        made = provision_self_signed(folder / CERTIFICATES, hosts, now=datetime.now(UTC))
        return made.certificate, made.key
    if settings.cert_secret:
        controller = assembly.certificate_controller(settings, folder)
        controller.provision()
        return controller.certificate, controller.key
    if settings.cert:
        return Path(settings.cert), Path(settings.key)
    given = Path(settings.cert_dir)
    return given / SERVING_CERTIFICATE, given / SERVING_KEY


def _announcement(address: str, state: ServerState, certificate: Path) -> Callable[..., None]:
    """Return the function that logs once where the server listens and which inputs it decides by."""
    context = state.current.context
    cluster = context.cluster
    fields: dict[str, Value] = {
        "url": f"https://{address}",
        "policies": ",".join(policy.name for policy in context.policies) or "none",
        "defaults": state.settings.defaults.value,
        "cluster": "live" if state.settings.live else state.settings.cluster or "none",
        "kubernetes": str(context.kubernetes_version),
        "access": access_mode(state.settings).value,
        "role": state.settings.role.value,
        "workers": state.settings.workers,
        "threads": state.settings.threads,
    }
    if cluster is not None and not state.settings.live:
        fields |= {"nodes": cluster.node_count, "pods": cluster.pod_count}
    if (authority := certificate.with_name(CA_CERTIFICATE)).exists():
        fields["ca"] = str(authority)
    return lambda _arbiter: LOGGER.info("serving", extra={"fields": fields})
