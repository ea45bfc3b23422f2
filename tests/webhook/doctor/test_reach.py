"""The way from the API server to the replicas."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.doctor.installation import (
    a_replica,
    a_voice,
    checks_of,
    evidence,
    healthy,
    ours,
    remedies,
)
from webhook.doctor import reach
from webhook.doctor.facts import Endpoints, Known, ServicePort, Unknown, UnknownError
from webhook.doctor.finding import Status

CHECKS = checks_of(reach.CHECKS)


@pytest.mark.parametrize(
    ("ports", "replica", "expected"),
    [
        pytest.param([ServicePort(443, "https")], {}, "", id="443 -> https, 8443"),
        pytest.param([ServicePort(443, 8443)], {}, "", id="443 -> 8443"),
        pytest.param(
            [ServicePort(443, 9443)],
            {},
            "port 443 of Service evenkeel/evenkeel has targetPort 9443, but 8443 is where evenkeel-1 listens",
            id="443 -> 9443",
        ),
        pytest.param(
            [ServicePort(443, "web")],
            {},
            "has targetPort web, but evenkeel-1 has no port of that name",
            id="443 -> web, which no pod has",
        ),
        pytest.param(
            [ServicePort(443, "https")],
            {"port": 9443},
            "has targetPort https, which is port 8443, but 9443 is where evenkeel-1 listens",
            id="443 -> https, but --bind says 9443",
        ),
        pytest.param(
            [ServicePort(8443, "https")],
            {},
            "the webhooks call port 443 of Service evenkeel/evenkeel, which has 8443",
            id="8443 -> https, and webhooks call 443",
        ),
        pytest.param([], {}, "which has none: every call fails", id="0 ports"),
    ],
)
def test_ports(ports: list[ServicePort], replica: dict[str, Any], expected: str) -> None:
    """What the webhooks call must end where the replicas serve."""
    facts = healthy(service_ports=Known(tuple(ports)), replicas=Known((a_replica("evenkeel-1", **replica),)))
    told = evidence(CHECKS["service-port"], facts)

    assert expected in told
    assert bool(expected) == told.startswith("problem")


def test_webhooks_that_call_another_port() -> None:
    """Each port that is called is looked at, and no other."""
    facts = healthy(
        ours=ours(port=8443), service_ports=Known((ServicePort(443, 1), ServicePort(8443, "https")))
    )

    assert "" == evidence(CHECKS["service-port"], facts)


@pytest.mark.parametrize(
    ("said", "ready", "status"),
    [
        pytest.param("", 2, [Status.OK], id="a replica answers"),
        pytest.param("connection refused", 2, [Status.PROBLEM], id="2 ready endpoints, and none answers"),
        pytest.param("no endpoints available", 0, [], id="0 ready endpoints: told elsewhere"),
    ],
)
def test_through_the_service(said: str, ready: int, status: list[Status]) -> None:
    """A port that leads astray shows as silence, though every endpoint is ready."""
    facts = healthy(through_service=Known(said), endpoints=Known(Endpoints(ready, 2 - ready)))

    assert status == [verdict.status for verdict in CHECKS["service-answers"].ask(facts)]


def test_who_may_not_ask_through_the_service() -> None:
    """Then nothing is known."""
    with pytest.raises(UnknownError, match="may not get services/proxy"):
        list(CHECKS["service-answers"].ask(healthy(through_service=Unknown("may not get services/proxy"))))


@pytest.mark.parametrize(
    ("said", "others", "status", "expected", "remedy"),
    [
        pytest.param(
            "dial tcp 10.0.0.1:8443: connect: connection refused",
            True,
            Status.WARNING,
            "evenkeel-2 does not listen on port 8443, although its pod is Ready",
            "logs evenkeel-2 --previous",
            id="refused, 1 other answers: it was killed",
        ),
        pytest.param(
            "dial tcp 10.0.0.1:8443: connect: connection refused",
            False,
            Status.PROBLEM,
            "evenkeel-2 does not listen",
            "logs evenkeel-2 --previous",
            id="refused, 0 answer: killed, too",
        ),
        pytest.param(
            "i/o timeout",
            True,
            Status.WARNING,
            "does not reach evenkeel-2 on port 8443, but evenkeel-1: i/o timeout",
            "describe node node-2",
            id="silence, 1 other answers: its node",
        ),
        pytest.param(
            "i/o timeout",
            False,
            Status.PROBLEM,
            "so it cannot call the webhooks either: i/o timeout",
            "firewalls",
            id="silence of all: a firewall",
        ),
    ],
)
def test_lost(said: str, others: bool, status: Status, expected: str, remedy: str) -> None:  # noqa: FBT001
    """Only where nobody is reached, and nobody refuses, is it a firewall."""
    silent = a_voice(reasons=Unknown("no"), unreachable=said)
    voices = {"evenkeel-1": a_voice() if others else silent, "evenkeel-2": silent}
    verdict = reach.lost(healthy(voices=voices))[-1]

    assert status is verdict.status
    assert expected in verdict.evidence
    assert remedy in verdict.remedy


def test_how_often_it_restarted() -> None:
    """A number says more than a guess."""
    voices = {"evenkeel-1": a_voice(reasons=Unknown("no"), unreachable="connection refused")}
    facts = healthy(replicas=Known((a_replica("evenkeel-1", restarts=3),)), voices=voices)

    assert "after 3 restarts" in reach.lost(facts)[0].evidence
    assert [] == remedies(CHECKS["service-port"], facts)
