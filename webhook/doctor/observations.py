"""Doctor's observations of an installation and what its checks say of them. Reads nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeVar

from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef
from webhook.doctor.installed import RegisteredWebhook, ReplicaPod
from webhook.rbac import DEFAULT_NAMESPACE, DEFAULT_SERVICE, account_of
from webhook.registration import Surroundings

T_co = TypeVar("T_co", covariant=True)

#: An object as the API server returns it.
Object = Mapping[str, Any]


class CheckStatus(StrEnum):
    """How a check came out, the worst first."""

    PROBLEM = "problem"
    WARNING = "warning"
    SKIPPED = "skipped"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of a report, as JSON has it too."""

    group: str  #: The heading of the check in reports for people; set when the check has run.
    check: str  #: The check's id, for programs; set when the check has run. An id never changes its meaning.
    status: CheckStatus  #: How bad it is.
    evidence: str  #: What was observed, with names and numbers, on one line.
    #: What to do, a command where there is one; None if there is nothing to do.
    suggestion: str | None = None


def ok(evidence: str) -> CheckResult:
    """Return that this is in order."""
    return CheckResult("", "", CheckStatus.OK, evidence)


def skipped(reason: str) -> CheckResult:
    """Return that this could not be checked."""
    return CheckResult("", "", CheckStatus.SKIPPED, reason)


def warning(evidence: str, suggestion: str) -> CheckResult:
    """Return the result for something that may go wrong."""
    return CheckResult("", "", CheckStatus.WARNING, evidence, suggestion)


def problem(evidence: str, suggestion: str) -> CheckResult:
    """Return the result for something that does not work, or keeps other things from working."""
    return CheckResult("", "", CheckStatus.PROBLEM, evidence, suggestion)


class MissingError(Exception):
    """A check needs what could not be read; ``diagnose`` reports the check as skipped."""


@dataclass(frozen=True, slots=True)
class Observed(Generic[T_co]):
    """Something that was read."""

    value: T_co

    def get(self) -> T_co:
        """Return it."""
        return self.value


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that could not be read, and why."""

    reason: str

    def get(self) -> NoReturn:
        """Skip the check that needs it.

        Raises:
            MissingError: Always.
        """
        raise MissingError(self.reason)


#: What was read, or why it was not.
Observation = Observed[T_co] | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationNames:
    """The names by which an installation is found."""

    namespace: str = DEFAULT_NAMESPACE
    service: str = DEFAULT_SERVICE
    webhooks: str = "evenkeel"

    @property
    def api_path(self) -> str:
        """Where the API server has the core objects of the namespace."""
        return f"/api/v1/namespaces/{self.namespace}"

    @property
    def service_path(self) -> str:
        """The Service for messages."""
        return f"{self.namespace}/{self.service}"

    @property
    def host(self) -> str:
        """The name that the API server connects to and expects in the serving certificate."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def client(self) -> str:
        """The ServiceAccount of callers: the shipped manifests name it after the Service."""
        return f"{self.namespace}/{account_of(self.service)}"


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """The status that a replica reports through the API server's proxy."""

    readyz: Observation[Object]  #: The answer of ``/readyz``.
    #: What came instead of a replica's answer; empty if it answered or the proxy is forbidden.
    unreachable: str = ""


class DryRunAnswer(NamedTuple):
    """The outcome of a dry run."""

    namespace: str  #: Where it was tried.
    answered: frozenset[str]  #: The paths of the webhooks that were called and answered.
    refusal: str  #: Why the API server would not store it; empty if it would.


class PartlyInjected(NamedTuple):
    """A controller some of whose pods were injected and some not."""

    controller: WorkloadRef  #: Which.
    missed: int  #: How many were not.
    injected: int  #: How many were.
    pod: str  #: The name of a missed one.


class InjectionCounts(NamedTuple):
    """How many pods were counted."""

    pods: int  #: All pods.
    #: The controllers some of whose pods were injected; most missed first.
    partly: tuple[PartlyInjected, ...]


#: What is read after what it depends on.
_NOT_YET: Final = Missing("not read yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Everything that the checks read."""

    names: InstallationNames
    #: The time by which certificates are checked: the API server's where this machine's differs.
    now: datetime
    clock_skew: timedelta  #: How far the clock of this machine is ahead of the API server's.
    tool_version: str  #: The release of this program.
    kubernetes_version: Observation[KubernetesVersion]  #: The API server's.
    #: The webhooks of each kind of configuration; None where there is no such configuration.
    webhooks: Observation[Mapping[str, tuple[RegisteredWebhook, ...] | None]]
    namespaces: Observation[tuple[Object, ...]]  #: kube-system and Evenkeel's own, as far as they exist.
    all_namespaces: Observation[tuple[Object, ...]]  #: All namespaces.
    #: Whether there is any object that an objectSelector selects, by its text.
    selected: Observation[Mapping[str, bool]] = _NOT_YET
    probe: Observation[DryRunAnswer] = _NOT_YET  #: What the webhooks answered to a dry run.
    service: Observation[Object | None]  #: None if it does not exist.
    #: What a replica says of itself through the port of the Service that the webhooks call.
    through_service: Observation[ReplicaStatus] = _NOT_YET
    #: The same of a pod that answers ``/v1``; None if there is no Service of such pods.
    api: Observation[ReplicaStatus | None] = _NOT_YET
    deployment: Observation[Object | None]  #: None if it does not exist.
    #: The pods that the Service selects and that are not terminating.
    replicas: Observation[tuple[ReplicaPod, ...]]
    statuses: Mapping[str, ReplicaStatus]  #: What replicas say of themselves, by pod name.
    #: The certificates of the Secret as PEM; empty if there are none.
    certificate: Observation[bytes] = _NOT_YET
    #: What the replicas' account needs or must not have, and whether it has it.
    permissions: Observation[Mapping[str, bool]] = _NOT_YET
    #: The same of the account of callers; empty where they are not authorized.
    client_permissions: Observation[Mapping[str, bool]] = _NOT_YET
    injection: Observation[InjectionCounts] = _NOT_YET  #: Pods of the whole cluster.
    #: The policies that give defaults to missed pods now, by their controllers.
    selecting: Observation[Mapping[WorkloadRef, str]] = _NOT_YET

    def all_webhooks(self) -> tuple[RegisteredWebhook, ...]:
        """Return the webhooks of both configurations; skips the check if there are none."""
        found = tuple(webhook for webhooks in self.webhooks.get().values() for webhook in webhooks or ())
        return found or Missing(f"no webhook configuration {self.names.webhooks} has webhooks").get()

    @property
    def surroundings(self) -> Surroundings:
        """What is known of the cluster when webhooks are compared."""
        namespaces = self.all_namespaces.value if isinstance(self.all_namespaces, Observed) else ()
        selected = self.selected.value if isinstance(self.selected, Observed) else {}
        return Surroundings(
            namespace=self.names.namespace,
            namespaces={
                each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in namespaces
            },
            selects=lambda selector: selected.get(str(selector), True),
        )

    def called_ports(self) -> list[int]:
        """Return the ports of the Service that the webhooks call; skips the check if they call none."""
        called = [webhook.service for webhook in self.all_webhooks() if webhook.service]
        ports = {port for service, port in called if service == self.names.service_path}
        return sorted(ports) or Missing(f"no webhook calls Service {self.names.service_path}").get()

    def service_spec(self) -> Object:
        """Return the spec of the Service; skips the check if no pods are behind it."""
        service, name = self.service.get(), f"Service {self.names.service_path}"
        if service is None:
            raise MissingError(f"{name} does not exist")
        if service["spec"].get("type") == "ExternalName":
            raise MissingError(f"{name} is of type ExternalName: it selects no pods")
        return dict(service["spec"])

    def pods(self) -> tuple[ReplicaPod, ...]:
        """Return the replicas; skips the check if there are none."""
        return self.replicas.get() or Missing("no replica exists").get()

    def pods_with_status(self) -> list[tuple[ReplicaPod, ReplicaStatus]]:
        """Return the replicas with what they say of themselves; skips the check if there are none."""
        found = [(pod, self.statuses[pod.name]) for pod in self.pods() if pod.name in self.statuses]
        return found or Missing("every replica was replaced meanwhile: run doctor again").get()

    @property
    def first_replica(self) -> ReplicaPod | None:
        """The replica whose settings stand for all; None if there is none or pods could not be read."""
        replicas = self.replicas.value if isinstance(self.replicas, Observed) else ()
        return replicas[0] if replicas else None

    @property
    def secret(self) -> str:
        """The Secret with the serving certificate."""
        return (self.first_replica and self.first_replica.secret) or f"{self.names.service}-tls"

    @property
    def account(self) -> str:
        """The ServiceAccount of the replicas, NAMESPACE/NAME."""
        name = self.first_replica.service_account if self.first_replica else self.names.service
        return f"{self.names.namespace}/{name}"

    @property
    def kubectl(self) -> str:
        """The start of a command on Evenkeel's namespace."""
        return f"kubectl -n {self.names.namespace}"

    @property
    def install(self) -> str:
        """The command that installs Evenkeel, or what is missing of it, with the values that it was given."""
        chart = f"helm upgrade --install evenkeel deploy/helm/evenkeel -n {self.names.namespace}"
        return f"{chart} --reset-then-reuse-values"


def pod_labels(deployment: Object | None) -> Mapping[str, str]:
    """Return the labels of a Deployment's pods."""
    template = deployment["spec"]["template"] if deployment else {}
    return (template.get("metadata") or {}).get("labels") or {}
