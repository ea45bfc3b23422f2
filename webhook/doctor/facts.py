"""What doctor knows of an installation: values, and why some are missing. Asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, NamedTuple, NoReturn, TypeVar

from certs.inject import CONFIGURATION_KINDS
from policies.model.labels import LabelSelector
from policies.model.version import KubernetesVersion
from webhook.kube.service_proxy import account_of

T_co = TypeVar("T_co", covariant=True)


#: The port of a Service that the API server calls where a webhook names none.
DEFAULT_SERVICE_PORT: Final = 443


class UnknownError(Exception):
    """A check needs what could not be read; the runner of the checks turns it into a skipped one."""


@dataclass(frozen=True, slots=True)
class Known(Generic[T_co]):
    """Something that was read."""

    value: T_co

    def get(self) -> T_co:
        """Return it."""
        return self.value


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that could not be read.

    Attributes:
        why: The reason as half a sentence ("may not list pods").
    """

    why: str

    def get(self) -> NoReturn:
        """Raise what skips the check that asks.

        Raises:
            UnknownError: Always.
        """
        raise UnknownError(self.why)


#: What was read, or why not.
Fact = Known[T_co] | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names under which an installation is looked for."""

    namespace: str = "evenkeel"
    service: str = "evenkeel"
    webhooks: str = "evenkeel"

    @property
    def host(self) -> str:
        """The name that the API server dials, and looks for in the certificate."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def client(self) -> str:
        """The ServiceAccount in whose name people ask replicas; the shipped manifests call it so."""
        return account_of(self.service)

    @property
    def secret(self) -> str:
        """The Secret of the certificate, where the replicas do not say another."""
        return f"{self.service}-tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which requests a webhook asks for."""

    operations: tuple[str, ...]
    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]

    def takes(self, operation: str, group: str, resource: str) -> bool:
        """Tell whether the rule asks for an operation on a resource of a group, in whatever version."""
        return (
            _among(operation, self.operations)
            and _among(group, self.groups)
            and any(_matches(pattern, resource) for pattern in self.resources)
        )


def _among(value: str, given: tuple[str, ...]) -> bool:
    return value in given or "*" in given


def _matches(pattern: str, resource: str) -> bool:
    """Tell whether a resource of a rule means a resource: ``*`` means no subresource.

    Source: ``Matcher.resource``, apiserver ``plugin/webhook/predicates/rules``, Kubernetes 1.36.
    """
    (wanted, _, wanted_part), (name, _, part) = pattern.partition("/"), resource.partition("/")
    return wanted in ("*", name) and wanted_part in ("*", part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One webhook of a configuration; absent fields have the API's defaults.

    Attributes:
        kind: The configuration's kind.
        configuration: The configuration's name.
        position: Which one it is there, from 0.
        name: Its own name.
        service: Namespace and name of the Service that is called; empty if a URL is.
        port: The port of the Service that is called.
        ca_bundle: PEM; empty if there is none.
        conditions: The CEL expressions of its ``matchConditions``, by name.
    """

    kind: str
    configuration: str
    position: int
    name: str
    service: tuple[str, ...]
    port: int = DEFAULT_SERVICE_PORT
    ca_bundle: bytes
    failure_policy: str
    match_policy: str
    reinvocation_policy: str
    side_effects: str
    timeout_s: int
    namespace_selector: LabelSelector
    object_selector: LabelSelector
    rules: tuple[Rule, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def mutating(self) -> bool:
        """Whether it may change objects."""
        return self.kind == MUTATING

    @property
    def fails_closed(self) -> bool:
        """Whether requests fail while it does not answer."""
        return self.failure_policy == "Fail"

    def takes(self, operation: str, group: str, resource: str) -> bool:
        """Tell whether a rule asks for an operation on a resource of a group."""
        return any(rule.takes(operation, group, resource) for rule in self.rules)


#: The kinds of webhook configurations.
MUTATING, VALIDATING = CONFIGURATION_KINDS


@dataclass(frozen=True, slots=True)
class Configuration:
    """A webhook configuration."""

    kind: str
    name: str
    webhooks: tuple[Webhook, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace; ``exempt`` if its annotation says that nothing is injected."""

    name: str
    labels: Mapping[str, str]
    exempt: bool = False


class Resource(NamedTuple):
    """A kind of object as URLs and webhook rules write it."""

    group: str
    plural: str


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of the Service, and the number or the name of the port of a pod that it leads to."""

    port: int
    target: int | str


@dataclass(frozen=True, slots=True)
class Endpoints:
    """How many addresses stand behind the Service."""

    ready: int
    not_ready: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The Deployment whose pods the Service selects."""

    name: str
    replicas: int
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A pod behind the Service.

    Attributes:
        state: What keeps a container waiting, or ended it last ("CrashLoopBackOff"); empty if nothing does.
        restarts: Of its serving container.
        image_id: What really runs; empty if nothing does yet.
        port: Where it serves.
        named_ports: The ports of its containers that have a name.
        settings: Options of ``evenkeel serve``, without dashes, from arguments and environment.
        secrets: The Secrets that are mounted.
    """

    name: str
    node: str
    labels: Mapping[str, str]
    ready: bool
    state: str = ""
    restarts: int = 0
    image: str = ""
    image_id: str = ""
    port: int
    named_ports: Mapping[str, int] = field(default_factory=dict)
    service_account: str
    settings: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """What a replica says of itself, over the API server's proxy.

    Attributes:
        reasons: Why it is not ready; empty if it is.
        version: Its release.
        metrics: Values without labels, by name.
        unreachable: What the API server says that cannot reach it; empty if it can, or nobody could ask.
    """

    reasons: Fact[tuple[str, ...]]
    version: Fact[str]
    metrics: Fact[Mapping[str, float]]
    unreachable: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget.

    Attributes:
        name: Its name.
        selector: Which pods it counts; None for none.
        allows: Pods that may be evicted now.
        asks: Its field and value ("minAvailable 1").
        blocking: Whether it lets none be evicted even while all are healthy.
    """

    name: str
    selector: LabelSelector | None
    allows: int
    asks: str
    blocking: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A node that could take a pod: ready and not cordoned."""

    node: str
    zone: str


class Ask(NamedTuple):
    """Something that an account may or may not do: with objects, or with a path of the API server's own."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"{self.verb} {self.path} of the API server"
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f"{resource}/{self.name}" if self.name else resource
        return f"{self.verb} {named}{f' in {self.namespace}' if self.namespace else ''}"


@dataclass(frozen=True, slots=True)
class Owner:
    """A controller's pods, by whether they carry the annotation of the injection.

    Attributes:
        kind: The controller's kind.
        namespace: Its namespace.
        name: Its name.
        restart: The command that makes its pods anew; empty if none is known.
        injected: Pods that carry the annotation.
        bare: Pods that do not.
    """

    kind: str
    namespace: str
    name: str
    restart: str
    injected: int
    bare: int


@dataclass(frozen=True, slots=True)
class Injection:
    """How the pods of the cluster's controllers were injected.

    Attributes:
        partial: Controllers with pods of both sorts, those with the most bare pods first.
        pods: Pods that were looked at.
        unseen: What could not be looked at, in words; empty if everything was.
    """

    partial: tuple[Owner, ...]
    pods: int
    unseen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the checks are asked of.

    Attributes:
        names: What was looked for.
        now: The time at which it was, by the API server's clock if this machine's differs.
        skew: How far the clock of this machine is ahead of the API server's.
        tool_version: The release of this program.
        version: The API server's.
        ours: The webhook configurations of the name that was given.
        others: All other webhook configurations.
        namespaces: All.
        protected: kube-system and Evenkeel's own, as far as they exist.
        served: The versions in which the cluster serves the kinds that Evenkeel knows.
        service: Whether the Service exists.
        service_ports: Its ports.
        through_service: What the API server's proxy says instead of a replica's answer; empty if one answers.
        endpoints: What stands behind it.
        workload: None if there is none.
        replicas: Its pods that are not ending.
        voices: What replicas say of themselves, by pod name.
        budgets: Those of the namespace.
        places: Nodes.
        secret: The name of the Secret with the serving certificate.
        certificate: Its certificates as PEM; None if it does not exist or holds none.
        account: The replicas' ServiceAccount.
        access: What it was asked for, and whether it may.
        client_access: The same of the ServiceAccount in whose name people ask; empty where nobody is asked
            who calls.
        injection: Pods of the cluster.
    """

    names: Names
    now: datetime
    skew: timedelta
    tool_version: str
    version: Fact[KubernetesVersion]
    ours: Fact[tuple[Configuration, ...]]
    others: Fact[tuple[Configuration, ...]]
    namespaces: Fact[tuple[Namespace, ...]]
    protected: Fact[tuple[Namespace, ...]]
    served: Fact[Mapping[Resource, frozenset[str]]]
    service: Fact[bool]
    service_ports: Fact[tuple[ServicePort, ...]]
    through_service: Fact[str]
    endpoints: Fact[Endpoints]
    workload: Fact[Workload | None]
    replicas: Fact[tuple[Replica, ...]]
    voices: Mapping[str, Voice]
    budgets: Fact[tuple[Budget, ...]]
    places: Fact[tuple[Place, ...]]
    secret: str
    certificate: Fact[bytes | None]
    account: str
    access: Fact[Mapping[Ask, bool]]
    client_access: Fact[Mapping[Ask, bool]]
    injection: Fact[Injection]

    def webhooks(self) -> tuple[Webhook, ...]:
        """Return our webhooks.

        Raises:
            UnknownError: They could not be read, or there are none.
        """
        found = tuple(webhook for configuration in self.ours.get() for webhook in configuration.webhooks)
        if not found:
            raise UnknownError(f"no webhook configuration {self.names.webhooks}")
        return found

    def pods(self) -> tuple[Replica, ...]:
        """Return the replicas.

        Raises:
            UnknownError: They could not be read, or there are none.
        """
        found = self.replicas.get()
        if not found:
            raise UnknownError("there is no replica")
        return found

    @property
    def deployment(self) -> str:
        """The Deployment for commands: the one that was found, else the one that the manifests would make."""
        workload = self.workload.value if isinstance(self.workload, Known) else None
        return workload.name if workload else self.names.service

    def restart(self) -> str:
        """Return the command that makes the replicas anew."""
        return f"kubectl -n {self.names.namespace} rollout restart deployment/{self.deployment}"

    def install(self) -> str:
        """Return the command that installs Evenkeel, or what is missing of it."""
        return f"helm upgrade --install evenkeel deploy/helm/evenkeel -n {self.names.namespace}"

    def setting(self, name: str) -> str:
        """Return an option of the first replica; empty if it is not given, or nobody could look."""
        replicas = self.replicas.value if isinstance(self.replicas, Known) else ()
        return next((replica.settings.get(name, "") for replica in replicas), "")
