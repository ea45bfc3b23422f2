"""Whether the API server reaches the replicas: by the Service's port, through its proxy, one by one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.reports.lint_run import plural
from webhook.doctor.facts import Facts, Known, Replica, ServicePort
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning

#: What the API server says where a machine answers and no process listens.
_REFUSED: Final = "connection refused"


def _ports(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the port that the webhooks call leads to the one on which each replica serves."""
    ports = {port.port: port for port in facts.service_ports.get()}
    which = f"Service {facts.names.namespace}/{facts.names.service}"
    for number in _called(facts):
        if number not in ports:
            has = listed([str(port) for port in ports]) or "none"
            yield problem(
                f"the webhooks call port {number} of {which}, which has {has}: every call fails", _edit(facts)
            )
            continue
        astray = list(_astray(facts, ports[number]))
        for where in astray:
            yield problem(
                f"port {number} of {which} has targetPort {ports[number].target}, {where}: every call fails",
                _edit(facts),
            )
        if not astray:
            yield ok(f"port {number} of {which} leads to targetPort {ports[number].target} of every replica")


def _called(facts: Facts) -> list[int]:
    """Return the ports of our Service that our webhooks call."""
    own = (facts.names.namespace, facts.names.service)
    return sorted({webhook.port for webhook in facts.webhooks() if webhook.service == own})


def _astray(facts: Facts, port: ServicePort) -> Iterator[str]:
    """Yield where a port of the Service leads instead of to replicas, each place once."""
    places: dict[str, list[str]] = {}
    for replica in facts.pods():
        target = replica.named_ports.get(port.target) if isinstance(port.target, str) else port.target
        if target is None:
            places.setdefault("but {} has no port of that name", []).append(replica.name)
        elif target != replica.port:
            leads = f"which is port {target}, " if isinstance(port.target, str) else ""
            places.setdefault(f"{leads}but {replica.port} is where {{}} listens", []).append(replica.name)
    for place, names in places.items():
        yield place.format(listed(names))


def _edit(facts: Facts) -> str:
    return f"kubectl -n {facts.names.namespace} edit service {facts.names.service}"


def _through_service(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the API server's proxy gets an answer of a replica from the Service."""
    which = f"Service {facts.names.namespace}/{facts.names.service}"
    said = facts.through_service.get()
    if not said:
        yield ok(f"a replica answers the API server through {which}")
    elif not isinstance(facts.endpoints, Known) or facts.endpoints.value.ready:
        yield problem(
            f"no replica answers the API server through {which}: {said}",
            f"kubectl -n {facts.names.namespace} describe service {facts.names.service}, and compare its "
            "endpoints with the port on which the replicas serve",
        )
    # That there is no ready endpoint was told.


def lost(facts: Facts) -> list[Verdict]:
    """Return which replicas are Ready although the API server does not reach them, and why."""
    reached = [name for name, voice in facts.voices.items() if isinstance(voice.reasons, Known)]
    # One that is not ready may well not answer, and has been told of.
    gone = [replica for replica in facts.pods() if replica.ready and facts.voices[replica.name].unreachable]
    return [_why_lost(facts, replica, reached) for replica in gone]


def _why_lost(facts: Facts, replica: Replica, reached: list[str]) -> Verdict:
    said, namespace = facts.voices[replica.name].unreachable, facts.names.namespace
    look = f"kubectl -n {namespace} describe pod {replica.name}"
    if _REFUSED in said:
        grade = warning if reached else problem
        restarted = f", after {plural(replica.restarts, 'restart')}" if replica.restarts else ""
        return grade(
            f"{replica.name} does not listen on port {replica.port}, although its pod is Ready: its "
            f"process, or its node, has just ended{restarted} ({said})",
            f"{look}, and kubectl -n {namespace} logs {replica.name} --previous",
        )
    if reached:
        return warning(
            f"the API server does not reach {replica.name} on port {replica.port}, but {listed(reached)}: "
            f"{said}",
            f"{look}, and kubectl describe node {replica.node or '…'}: its node may be down",
        )
    return problem(
        f"the API server does not reach {replica.name} on port {replica.port}, so it cannot call the "
        f"webhooks either: {said}",
        f"let the control plane through to port {replica.port}: firewalls, and "
        f"kubectl -n {namespace} get networkpolicies",
    )


CHECKS: Final = (Check("service-port", _ports), Check("service-answers", _through_service))
