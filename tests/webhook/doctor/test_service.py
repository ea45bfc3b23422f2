"""The way from the API server through the Service to the replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.webhook.doctor.installation import (
    CORE,
    LABELS,
    SERVICE,
    THROUGH_SERVICE,
    Change,
    Cluster,
    diagnosis,
    found,
    proxy_error,
    wording,
)

PORT, ANSWER = ("service-port", "problem"), ("service-answers", "problem")
SKIPPED = {("service-port", "skipped"), ("service-answers", "skipped")}


def ports(*entries: dict[str, Any]) -> Change:
    return lambda cluster: cluster.objects[SERVICE]["spec"].update(ports=list(entries))


def through(status: int, body: Any) -> Change:
    return lambda cluster: cluster.answers.update({THROUGH_SERVICE: (status, body)})


def of_api(status: int, body: Any) -> Change:
    """Return the change to an installation whose pods of the API answer so."""

    def change(cluster: Cluster) -> None:
        cluster.objects[f"{SERVICE}-api"] = {"spec": {}}
        cluster.answers[f"{CORE}/services/https:evenkeel-api:https/proxy/readyz"] = (status, body)

    return change


API = ("api-answers", "warning")
SELECTOR = ("service-selector", "problem")


def selecting(**labels: str) -> Change:
    return lambda cluster: cluster.objects[SERVICE]["spec"].update(selector=labels)


CASES = [
    pytest.param(selecting(app="web"), {SELECTOR}, id="selects other pods"),
    pytest.param(selecting(**LABELS, track="b"), {SELECTOR}, id="selects by one label too many"),
    pytest.param(ports({"port": 443, "targetPort": 8443}), set(), id="443 to 8443"),
    pytest.param(ports({"port": 443, "targetPort": 9443}), {PORT}, id="443 to 9443"),
    pytest.param(ports({"port": 443}), {PORT}, id="443 to the same"),
    pytest.param(ports({"port": 443, "targetPort": "web"}), {PORT}, id="443 to a name that no pod has"),
    pytest.param(
        lambda cluster: cluster.set_arguments("--live", "--cert-secret=evenkeel-tls", "--bind=:9443"),
        {PORT, ("replicas-say-ready", "problem")},
        id="443 to 8443, but replicas listen on 9443",
    ),
    pytest.param(ports({"port": 8443, "targetPort": 8443}), {PORT}, id="8443, but webhooks call 443"),
    pytest.param(ports(), {PORT}, id="no ports"),
    pytest.param(
        lambda cluster: cluster.objects.pop(SERVICE), {PORT, ("service-answers", "skipped")}, id="no Service"
    ),
    pytest.param(
        lambda cluster: cluster.objects[SERVICE]["spec"].update(type="ExternalName"),
        SKIPPED,
        id="an alias in DNS",
    ),
    pytest.param(through(503, proxy_error("connect: connection refused")), {ANSWER}, id="no process listens"),
    pytest.param(
        through(503, {"kind": "Status", "message": "no endpoints available"}), {ANSWER}, id="no pods"
    ),
    pytest.param(through(404, "nothing here"), {ANSWER}, id="another server answers"),
    pytest.param(
        through(503, {"status": "not ready", "reasons": ["draining"]}),
        set(),
        id="a replica that is not ready",
    ),
    pytest.param(of_api(200, {"status": "ok", "role": "api"}), set(), id="the API answers"),
    pytest.param(
        of_api(503, {"status": "not ready", "reasons": ["draining"]}), {API}, id="the API is not ready"
    ),
    pytest.param(
        of_api(503, {"kind": "Status", "message": "no endpoints available"}), {API}, id="no API pods"
    ),
    pytest.param(
        lambda cluster: setattr(cluster, "forbidden", lambda path: path == THROUGH_SERVICE),
        {("service-answers", "skipped")},
        id="the caller may not use the proxy",
    ),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: set[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == set(found(diagnosis(change)))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("service.txt", text) == text
