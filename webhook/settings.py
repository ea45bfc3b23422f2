"""The settings of ``evenkeel serve``: every option once, with its environment variable, default and help.

Settings are read once, at the start, and never change. This module knows neither click nor gunicorn:
``cli/serve.py`` turns ``options()`` into command-line options, the documentation into a table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any

from policies.config.controllers import TRUSTED_CONTROLLERS, parse_trusted_controllers
from policies.config.spread_policy import DefaultsMode
from policies.manifests.errors import UsageError

#: What every environment variable of Evenkeel starts with.
ENV_PREFIX = "EVENKEEL_"

#: Workers that the default never exceeds: a container often sees all cores of its node.
MOST_DEFAULT_WORKERS = 4

#: Seconds the slowest client is waited for after the last of its answers. Kubernetes kills a pod after 30 s
#: by default, and drain, this and gunicorn's own 1 s must fit in.
DEFAULT_GRACEFUL_TIMEOUT_S = 15.0

#: Seconds. The API server proves each minute that a watch is alive; arbitrary, three of them.
DEFAULT_MAX_SNAPSHOT_AGE_S = 180.0


#: The titles that options are shown below, by the first option of each.
SECTIONS = {
    "bind": "Address and certificate",
    "client_ca": "Access",
    "cluster": "Cluster",
    "defaults": "Policies and workloads",
    "workers": "Processes, limits and timeouts",
    "log_format": "Logs",
}


class LogFormat(StrEnum):
    """How a log line is written."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The least severe line that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Role(StrEnum):
    """What a server does, each in processes and with a cache of its own."""

    ALL = "all"
    ADMISSION = "admission"
    API = "api"


class Access(StrEnum):
    """Whom the routes answer that show what runs in a cluster; see ``webhook/http/authorization``."""

    AUTO = "auto"
    KUBERNETES = "kubernetes"
    OPEN = "open"


def default_workers() -> int:
    """Return one worker per core this process may use, within bounds."""
    return max(1, min(MOST_DEFAULT_WORKERS, len(os.sched_getaffinity(0))))


def _help(text: str, value: str = "") -> dict[str, str]:
    """Return the metadata of a field: the one sentence that its help and documentation are, and its value."""
    return {"help": text, "value": value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of ``evenkeel serve``; a field's name is its option's name.

    Every value is checked on creation, so the rest of the program never checks again.

    Raises:
        UsageError: Options that do not go together, or a number out of bounds.
    """

    #: HOST:PORT; loopback by default, so that no one serves the network by accident.
    bind: str = field(
        default="127.0.0.1:8443",
        metadata=_help("Address and port to listen on; [::1]:8443 for IPv6.", "ADDRESS"),
    )

    #: A dear question to the API can slow, kill or exhaust the processes of its own role alone.
    role: Role = field(
        default=Role.ALL,
        metadata=_help("What to serve: admission reviews objects, api answers /v1, all does both."),
    )

    #: Exactly one of self_signed, cert with key, cert_dir, cert_secret says where the certificate comes from.
    self_signed: bool = field(
        default=False, metadata=_help("Create a certificate for this run, and print the file of its CA.")
    )
    #: File name; PEM, the leaf first.
    cert: str = field(
        default="", metadata=_help("Serving certificate with its chain, PEM; requires --key.", "FILE")
    )
    #: File name; PEM, without passphrase.
    key: str = field(default="", metadata=_help("Private key of --cert, PEM.", "FILE"))
    #: Folder name; what `evenkeel certs init` writes, and what Kubernetes mounts a TLS secret as.
    cert_dir: str = field(
        default="", metadata=_help("Folder with tls.crt and tls.key, such as a mounted TLS Secret.", "DIR")
    )

    #: Name of a Secret in the pod's namespace; all replicas share it.
    cert_secret: str = field(
        default="", metadata=_help("Secret with the certificate, created and rotated by Evenkeel.", "NAME")
    )
    #: Name of the Service in the pod's namespace, whose names the certificate of --cert-secret carries.
    service: str = field(
        default="evenkeel", metadata=_help("Service that the API server calls; for --cert-secret.", "NAME")
    )
    #: Name of two objects, a MutatingWebhookConfiguration and a ValidatingWebhookConfiguration.
    webhooks: str = field(
        default="evenkeel",
        metadata=_help(
            "Webhook configurations whose caBundle is kept up to date; for --cert-secret.", "NAME"
        ),
    )
    #: Name of Leases in the pod's namespace.
    lease: str = field(
        default="evenkeel",
        metadata=_help(
            "Lease of the replica that rotates certificates, for --cert-secret; those of the replicas that "
            "measure skew and write the status of policies have the suffixes -skew and -status.",
            "NAME",
        ),
    )
    #: File name; PEM. The API server sends no certificate unless its --admission-control-config-file says so.
    client_ca: str = field(
        default="",
        metadata=_help(
            "CA of client certificates, PEM; reviews without a valid client certificate are rejected.", "FILE"
        ),
    )
    #: File name. The chart and the kustomization mount a Secret for it; a missing file may come.
    path_tokens: str = field(
        default="",
        metadata=_help(
            "Tokens of the paths that the API server calls, /validate/TOKEN and /mutate/TOKEN, one a line; "
            "reviews without one, or a client certificate, reveal nothing of the cluster.",
            "FILE",
        ),
    )
    #: Where nothing is said, only who can reach the port without a network is answered unasked.
    access: Access = field(
        default=Access.AUTO,
        metadata=_help(
            "Access to /v1 and /metrics: kubernetes lets the API server authorize, open allows all, "
            "auto is open on loopback and with --self-signed."
        ),
    )

    #: File name; injection needs the Services and owners it holds to deduce selectors.
    cluster: str = field(
        default="",
        metadata=_help(
            "Snapshot file of the cluster (a v1 List), for injection, forecasts and scores.", "FILE"
        ),
    )
    #: Each worker follows the cluster by itself, so that one worker and more replicas save memory.
    live: bool = field(
        default=False, metadata=_help("Watch the live cluster: the pod's own, or that of the kubeconfig.")
    )
    #: Needs the right to patch the status of SpreadPolicy objects, and to write a Lease.
    policy_status: bool = field(
        default=False,
        metadata=_help("Write the status of the cluster's SpreadPolicies; requires --live."),
    )
    #: Name of a context of the kubeconfig.
    context: str = field(
        default="", metadata=_help("Context of the kubeconfig; for --live and --cert-secret.", "NAME")
    )
    #: Seconds.
    max_snapshot_age_s: float = field(
        default=DEFAULT_MAX_SNAPSHOT_AGE_S,
        metadata=_help("Largest age of the cluster cache, in seconds; an older one is not used."),
    )
    #: Each is three series of its own and shares a fourth, so that this bounds what Prometheus has to keep.
    skew_metrics: int = field(
        default=0,
        metadata=_help(
            "Number of constraints whose skew is exported at /metrics, the worst first; requires --live."
        ),
    )
    #: Needs the right to create and patch Events in all namespaces.
    skew_events: bool = field(
        default=False,
        metadata=_help(
            "Write Events on workloads with violated hard constraints or pending pods; requires --live."
        ),
    )
    #: Off, since what people apply is changed only where that was asked for.
    defaults: DefaultsMode = field(
        default=DefaultsMode.OFF,
        metadata=_help(
            "Default constraints: off injects none, policy those of SpreadPolicies, soft also soft ones over "
            "zones and nodes where policies give none."
        ),
    )
    #: File names, each with one or more SpreadPolicy documents.
    policy: tuple[str, ...] = field(
        default=(), metadata=_help("SpreadPolicy file, - or builtin:NAME; may be repeated.", "FILE")
    )
    #: File name; its defaultConstraints are what `source: scheduler` injects.
    scheduler_config: str = field(
        default="",
        metadata=_help("KubeSchedulerConfiguration whose default constraints are injected.", "FILE"),
    )
    #: MAJOR.MINOR; 1.36 is the newest release whose behavior Evenkeel was checked against.
    kubernetes_version: str = field(
        default="",
        metadata=_help(
            "Kubernetes version of the cluster; default: the live cluster's, else 1.36.", "VERSION"
        ),
    )
    #: Descriptions of custom resources that embed a pod template.
    workload_kind: tuple[str, ...] = field(
        default=(),
        metadata=_help(
            "Custom resource with a pod template: GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]; "
            "may be repeated.",
            "KIND",
        ),
    )

    #: Users of service accounts, of controllers that make objects of templates that were reviewed.
    trusted_controller: tuple[str, ...] = field(
        default=TRUSTED_CONTROLLERS,
        metadata=_help(
            "Service account that is believed about the custom resource that owns what it sends, as "
            "system:serviceaccount:NAMESPACE:NAME; may be repeated, and an empty one names none.",
            "USER",
        ),
    )

    #: Processes. A review is pure computation, and one Python process computes on one core.
    workers: int = field(
        default_factory=default_workers,
        metadata=_help("Worker processes; with --role all one more answers /v1."),
    )
    #: Threads per worker. They only wait for the network; slow clients hold none.
    threads: int = field(default=8, metadata=_help("Threads of each worker."))
    #: Bytes. etcd holds at most 1.5 MiB per object, and an update carries the old and the new one. In JSON
    #: they are up to some seven times as large: Go writes `<` and what is no character as six bytes.
    max_review_bytes: int = field(
        default=32 * 1024 * 1024,
        metadata=_help("Largest AdmissionReview, in bytes; a larger one is denied where a policy denies."),
    )
    #: Bytes. An object of etcd twice.
    max_body_bytes: int = field(
        default=3 * 1024 * 1024, metadata=_help("Largest body of a lint request, in bytes.")
    )
    #: Bytes. A cluster of 2,500 nodes and 40,000 small pods. Parsing a MiB stops every other client for some
    #: 10 ms and takes 6 MiB of memory for a while.
    max_score_body_bytes: int = field(
        default=32 * 1024 * 1024,
        metadata=_help("Largest body of a score request, which may include a cluster, in bytes."),
    )
    #: Seconds, with those in which it waits for its turn. Less than the 15 s that requests in flight have
    #: after SIGTERM, so that none is cut off by default. Most answers take less than one.
    request_timeout_s: float = field(default=10.0, metadata=_help("Timeout of requests to /v1, in seconds."))
    #: Bytes, beyond what the worker has already: a request that brings the largest cluster takes most of it.
    max_request_memory_bytes: int = field(
        default=320 * 1024 * 1024,
        metadata=_help("Memory limit of requests to /v1, in bytes."),
    )
    #: Seconds for a whole TLS handshake, and again for a whole request. The API server waits 30 s at most.
    read_timeout_s: float = field(
        default=10.0, metadata=_help("Timeout for receiving a whole request, in seconds.")
    )
    #: Seconds. Longer than the 90 s for which the API server keeps idle connections, so that it closes them
    #: and never sends into a connection that is being closed here.
    keepalive_s: float = field(default=120.0, metadata=_help("Seconds that an idle connection is kept open."))
    #: Seconds. Kubernetes notifies the pod and the load balancers at the same time: requests keep arriving on
    #: new connections for a second or two after SIGTERM.
    drain_s: float = field(
        default=3.0, metadata=_help("Seconds after SIGTERM in which new connections are still accepted.")
    )
    #: Seconds after the drain.
    graceful_timeout_s: float = field(
        default=DEFAULT_GRACEFUL_TIMEOUT_S,
        metadata=_help("Seconds after the drain in which requests in flight must finish."),
    )

    #: Text is for people (key=value), JSON for log collectors.
    log_format: LogFormat = field(
        default=LogFormat.TEXT, metadata=_help("Format of log lines: text (key=value) or json.")
    )
    #: Reviews are logged at info.
    log_level: LogLevel = field(default=LogLevel.INFO, metadata=_help("Lowest severity of log lines."))

    @property
    def max_concurrent(self) -> int:
        """Threads that may do what takes long at once; the others answer probes meanwhile."""
        return max(1, self.threads // 2)

    @property
    def measures_skew(self) -> bool:
        """Whether the spread of workloads is measured all the time."""
        return self.skew_metrics > 0 or self.skew_events

    def __post_init__(self) -> None:
        _check_certificate_source(self)
        _check_cluster(self)
        parse_trusted_controllers(self.trusted_controller)
        for name in (
            "workers",
            "threads",
            "max_review_bytes",
            "max_body_bytes",
            "max_score_body_bytes",
            "request_timeout_s",
            "max_request_memory_bytes",
            "max_snapshot_age_s",
            "read_timeout_s",
            "keepalive_s",
        ):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(
                    f"{flag(name)}: Invalid value: {getattr(self, name)}: must be greater than 0"
                )
        for name in ("drain_s", "graceful_timeout_s", "skew_metrics"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(
                    f"{flag(name)}: Invalid value: {getattr(self, name)}: must be greater than or equal to 0"
                )


def _check_certificate_source(settings: Settings) -> None:
    if bool(settings.cert) != bool(settings.key):
        raise UsageError("--cert and --key must be set together")
    given = [settings.self_signed, bool(settings.cert), bool(settings.cert_dir), bool(settings.cert_secret)]
    if sum(given) != 1:
        found = "none" if not any(given) else "more than one"
        raise UsageError(
            "exactly one of --self-signed, --cert with --key, --cert-dir and --cert-secret must be set: "
            f"got {found} of them"
        )


#: The options of what only the other role does.
_NOT_OF = {
    Role.ADMISSION: ("skew_metrics", "skew_events"),
    Role.API: ("policy_status", "cert_secret", "path_tokens", "client_ca"),
}


def _check_cluster(settings: Settings) -> None:
    if settings.live and settings.cluster:
        raise UsageError("--live and --cluster are mutually exclusive")
    if settings.defaults is DefaultsMode.SOFT and not (settings.live or settings.cluster):
        raise UsageError(
            "--defaults soft requires --live or --cluster: selectors come from its Services and owners"
        )
    for name in ("policy_status", "skew_metrics", "skew_events"):
        if getattr(settings, name) and not settings.live:
            raise UsageError(f"{flag(name)} requires --live")
    for role, names in _NOT_OF.items():
        for name in names:
            if settings.role is role and getattr(settings, name):
                raise UsageError(f"{flag(name)} may not be set with --role {role}")
    if settings.context and not (settings.live or settings.cert_secret):
        raise UsageError("--context may only be set with --live or --cert-secret")
    if settings.access is Access.KUBERNETES and not settings.live:
        raise UsageError("--access kubernetes requires --live")


def flag(name: str) -> str:
    """Return the command-line option of a field.

    >>> flag("max_body_bytes")
    '--max-body-bytes'
    """
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Option:
    """One setting as the command line and the documentation show it."""

    name: str  #: The field of ``Settings``.
    flag: str  #: The command-line option.
    env: str  #: The environment variable; a list is separated by white space there.
    default: Any  #: The default, of the field's type.
    help: str  #: One sentence.
    value: str  #: What the help calls a value; empty for a flag and a choice.
    repeatable: bool  #: Whether it may be repeated.
    section: str  #: The title that it is shown below.

    @property
    def default_text(self) -> str:
        """The default as documentation writes it, the same on every machine."""
        if self.name == "workers":
            return f"one per core, at most {MOST_DEFAULT_WORKERS}"
        match self.default:
            case bool():
                return "true" if self.default else "false"
            case tuple() | "" if not self.default:
                return "none"
            case tuple():
                return " ".join(self.default)
            case float():
                return f"{self.default:g}"
        return str(self.default)


def _value(name: str, default: object) -> str:
    """Return a number's unit, by the end of its setting's name."""
    if isinstance(default, bool | StrEnum):
        return ""
    return {"bytes": "BYTES", "s": "SECONDS"}.get(name.rpartition("_")[2], "N")


def options() -> Iterator[Option]:
    """Yield every option of ``evenkeel serve`` in the order of its help."""
    section = ""
    for entry in fields(Settings):
        section = SECTIONS.get(entry.name, section)
        factory = entry.default_factory
        default = entry.default if factory is MISSING else factory()
        yield Option(
            name=entry.name,
            flag=flag(entry.name),
            env=ENV_PREFIX + entry.name.upper(),
            default=default,
            help=entry.metadata["help"],
            value=entry.metadata["value"] or _value(entry.name, default),
            repeatable=isinstance(default, tuple),
            section=section,
        )
