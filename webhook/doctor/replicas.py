"""Whether replicas are ready, the Service reaches them, and they know the release of the API server. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.config.spread_policy import CRD_NAME, KIND, NOT_INJECTED, PLURAL
from policies.manifests.errors import UsageError
from policies.manifests.words import IN_MESSAGE, listed, plural
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.releases import OLDEST_VERSION, judged_as
from webhook.doctor.installed import ReplicaPod
from webhook.doctor.observations import (
    CheckResult,
    Object,
    Observations,
    Observed,
    ok,
    pod_labels,
    problem,
    warning,
)
from webhook.rbac import api_service

#: Replicas of which one may be lost.
ENOUGH: Final = 2
#: What the API server says where a node answers and no process listens.
_REFUSED: Final = "connection refused"


def _ready(observed: Observations) -> Iterator[CheckResult]:
    """There are two replicas or more, and all of them are ready."""
    deployment, replicas = observed.deployment.get(), observed.replicas.get()
    kubectl = observed.kubectl
    if deployment is None and not replicas:
        yield problem(f"Deployment {observed.names.service_path} does not exist", observed.install)
        return
    # Something else than the Deployment may create the pods.
    wanted = deployment["spec"].get("replicas", 1) if deployment else len(replicas)
    if wanted < ENOUGH:
        yield warning(
            f"Deployment {observed.names.service_path} has spec.replicas {wanted}: while none is ready, "
            "requests are not reviewed, or fail",
            f"{kubectl} scale deployment/{observed.names.service} --replicas={ENOUGH}",
        )
    unready = [replica for replica in replicas if not replica.ready]
    for replica in unready:
        yield warning(
            f"{replica.name} is not ready{f': {replica.state}' if replica.state else ''}",
            f"{kubectl} describe pod {replica.name}, and {kubectl} logs {replica.name}"
            f"{' --previous' if replica.restarts else ''}",
        )
    if len(replicas) < wanted:
        yield warning(
            f"{len(replicas)} of {wanted} replicas exist",
            f"{kubectl} describe replicasets: read their events",
        )
    if wanted >= ENOUGH and not unready and len(replicas) >= wanted:
        yield ok(f"{len(replicas)} of {wanted} replicas are ready")


def _report_ready(observed: Observations) -> Iterator[CheckResult]:
    """Replicas say that they are ready, and warn of nothing; the API server reaches each of them."""
    pods = observed.pods_with_status()
    lost = [replica for replica, status in pods if status.unreachable and replica.ready]
    yield from (_lost(observed, replica) for replica in lost)
    answers = {pod.name: status.readyz.value for pod, status in pods if isinstance(status.readyz, Observed)}
    if not answers and not lost:
        pods[0][1].readyz.get()
    none_ready = all(answer.get("reasons") for answer in answers.values())
    said = dict[tuple[str, str], list[str]]()
    for name, answer in answers.items():
        for kind in ("reasons", "warnings"):
            for text in answer.get(kind) or ():
                said.setdefault((kind, text), []).append(name)
    for (kind, sentence), names in said.items():
        grave = problem if kind == "reasons" and none_ready else warning
        text = f"not ready: {sentence}" if kind == "reasons" else sentence
        yield grave(f"{listed(names, IN_MESSAGE)}: {text}", _suggestion(observed, sentence, names[0]))
    if answers and not said:
        yield ok(f"{plural(len(answers), 'replica')} answered: ready, without warnings")


def _suggestion(observed: Observations, sentence: str, replica: str) -> str:
    """Return the suggestion for a reason or a warning of a replica."""
    if CRD_NAME in sentence:
        return f"{observed.install}, which brings it"
    if NOT_INJECTED in sentence:
        return f"{observed.install} --set defaults=policy"
    kind, _, rest = sentence.partition(" ")
    if kind == KIND:
        return f"kubectl describe {PLURAL} {rest.partition(':')[0]}"
    return f"{observed.kubectl} logs {replica}"


def _lost(observed: Observations, replica: ReplicaPod) -> CheckResult:
    """Return why the API server does not reach a replica whose pod is Ready.

    Only where no replica is reached, and no node refuses, does something block the network.
    """
    said = observed.statuses[replica.name].unreachable
    reached = [
        other.name for other, status in observed.pods_with_status() if isinstance(status.readyz, Observed)
    ]
    describe = f"{observed.kubectl} describe pod {replica.name}"
    if _REFUSED in said:
        restarts = f", after {plural(replica.restarts, 'restart')}" if replica.restarts else ""
        grade = warning if reached else problem
        return grade(
            f"{replica.name} does not listen on port {replica.port}, although its pod is Ready: its process "
            f"or its node has just ended{restarts} ({said})",
            f"{describe}, and {observed.kubectl} logs {replica.name} --previous",
        )
    if reached:
        return warning(
            f"the API server reaches {listed(reached, IN_MESSAGE)} but not {replica.name} on port"
            f" {replica.port}: {said}",
            f"{describe}, and kubectl describe node {replica.node or '…'}: its node may be down",
        )
    return problem(
        f"the API server gets no answer from {replica.name} on port {replica.port}, so it cannot call "
        f"webhooks there: {said}",
        f"if it times out, allow the control plane to connect to port {replica.port}: check firewalls, and "
        f"{observed.kubectl} get networkpolicies",
    )


def _kubernetes_version(observed: Observations) -> Iterator[CheckResult]:
    """Replicas know the release of the cluster and model it."""
    # The release alone, which everyone may read, says nothing about the installation.
    version, settings = observed.kubernetes_version.get(), observed.pods()[0].settings
    set_version = _parsed(settings.get("kubernetes_version", ""))
    if not OLDEST_VERSION <= version <= KNOWN_VERSION:
        nearest = judged_as(version)
        yield warning(
            f"the cluster runs Kubernetes {version}; this release of Evenkeel knows {OLDEST_VERSION} to "
            f"{KNOWN_VERSION} and models {nearest}",
            "upgrade Evenkeel" if version > KNOWN_VERSION else "upgrade the cluster",
        )
    elif set_version and set_version != version:
        yield warning(
            f"replicas model Kubernetes {set_version}, but the cluster runs {version}",
            "remove --kubernetes-version (EVENKEEL_KUBERNETES_VERSION): --live uses the cluster's",
        )
    else:
        yield ok(f"the cluster runs Kubernetes {version}, which Evenkeel knows")


def _parsed(text: str) -> KubernetesVersion | None:
    try:
        return KubernetesVersion.parse(text)
    except UsageError:
        return None


CHECKS: Final = {
    "replicas-ready": _ready,
    "replicas-say-ready": _report_ready,
    "kubernetes-version": _kubernetes_version,
}


def _selector(observed: Observations) -> Iterator[CheckResult]:
    """The Service selects the pods of the Deployment."""
    names, service = observed.names, observed.service.get()
    labels = pod_labels(observed.deployment.get())
    # Something else than the Deployment may create the pods.
    selector = ((service or {}).get("spec") or {}).get("selector") if labels else None
    if not selector:
        return
    lacking = selector.items() - labels.items()
    if lacking:
        texts = listed(sorted(f"{key}={value}" for key, value in lacking), IN_MESSAGE)
        yield problem(
            f"Service {names.service_path} selects {texts}, which pods of Deployment {names.service_path} do "
            "not have: no replica is called",
            f"{observed.kubectl} edit service {names.service}",
        )
    else:
        yield ok(f"Service {names.service_path} selects the pods of Deployment {names.service_path}")


def _ports(observed: Observations) -> Iterator[CheckResult]:
    """The port that the webhooks call leads to the one on which each replica listens."""
    service, names = observed.service.get(), observed.names
    if service is None:
        yield problem(
            f"Service {names.service_path} does not exist: the API server reaches no replica",
            observed.install,
        )
        return
    ports = {port["port"]: port for port in observed.service_spec().get("ports") or ()}
    for number in observed.called_ports():
        if number not in ports:
            which = f"the webhooks call port {number} of Service {names.service_path}"
            wrong = [f"{which}, which has {listed(ports, IN_MESSAGE) or 'no port'}"]
        else:
            wrong = _wrong_targets(observed, ports[number])
        for what in wrong:
            yield problem(f"{what}: every call fails", f"{observed.kubectl} edit service {names.service}")
        if not wrong:
            yield ok(f"port {number} of Service {names.service_path} leads to the port of every replica")


def _wrong_targets(observed: Observations, port: Object) -> list[str]:
    """Return why a port of the Service does not lead to replicas, each reason once."""
    target = port.get("targetPort") or port["port"]
    start = f"port {port['port']} of Service {observed.names.service_path} has targetPort {target}"
    reasons: dict[str, list[str]] = {}
    for replica in observed.pods():
        number = replica.named_ports.get(target) if isinstance(target, str) else target
        if number is None:
            reasons.setdefault(", but no port of {} has that name", []).append(replica.name)
        elif number != replica.port:
            meaning = f", which is port {number}" if isinstance(target, str) else ""
            listens = f"{meaning}, but the port of {{}} is {replica.port}"
            reasons.setdefault(listens, []).append(replica.name)
    return [start + reason.format(listed(names, IN_MESSAGE)) for reason, names in reasons.items()]


def _answers(observed: Observations) -> Iterator[CheckResult]:
    """A replica answers the API server's proxy through the Service."""
    names, status = observed.names, observed.through_service.get()
    error = status.unreachable
    if not error:
        status.readyz.get()
        yield ok(f"a replica answers the API server through Service {names.service_path}")
        return
    yield problem(
        f"no replica answers the API server through Service {names.service_path}: {error}",
        f"{observed.kubectl} describe service {names.service}, and compare its endpoints with the pods: "
        f"{observed.kubectl} get pods -o wide",
    )


def _api_answers(observed: Observations) -> Iterator[CheckResult]:
    """A pod answers what ``--live`` asks, where there are such pods."""
    status, service = observed.api.get(), api_service(observed.names.service)
    if status is None:
        yield ok(f"there is no Service {service}: who uses --live needs the right to list the cluster")
        return
    reasons = [] if status.unreachable else status.readyz.get().get("reasons") or []
    if not (status.unreachable or reasons):
        yield ok(f"a pod answers /v1 through Service {service}")
        return
    why = status.unreachable or "; ".join(reasons)
    yield warning(
        f"no pod answers /v1 through Service {service}, reviews go on: {why}",
        f"{observed.kubectl} logs deployment/{service}",
    )


SERVICE_CHECKS: Final = {
    "service-selector": _selector,
    "service-port": _ports,
    "service-answers": _answers,
    "api-answers": _api_answers,
}
