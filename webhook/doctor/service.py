"""Whether the API server reaches the replicas through the Service. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.manifests.words import IN_MESSAGE, listed
from webhook.doctor.check_result import CheckResult, ok, problem
from webhook.doctor.observations import Object, Observations, pod_labels


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


CHECKS: Final = {"service-selector": _selector, "service-port": _ports, "service-answers": _answers}
