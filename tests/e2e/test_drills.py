"""Faults around Evenkeel, and its messages: clocks, rights, the registration, the control plane."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

import pytest

from certs.keyring import parse_keyring
from certs.names import Service, parse_names
from certs.rotate import issue_serving
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import CONFIGURATIONS, NAME, PLACES, Installation
from tests.e2e.kubectl import Kubectl
from tests.e2e.objects import constraint, deployment
from tests.e2e.readiness import asked
from tests.waiting import eventually
from tests.webhook.registrations import IDLE
from tests.webhook.running import review_of

#: The Secret of the certificates.
_SECRET = f"{NAME}-tls"
#: Hours by which a clock is ahead: as long as a renewal is not due, and no certificate is valid so far ahead.
_AHEAD_H = 250 * 24
#: Seconds after which a picture of the cluster is old, for a replica that is watched growing old.
_MAX_AGE_S = 6.0
#: Seconds after which rights that are back are used again.
BACK_WITHIN_S = 10.0


@pytest.fixture
def third_place(installed: Installation) -> Iterator[int]:
    """A place for one more replica, which ends with the test."""
    port = installed.ports[PLACES - 1]
    yield port
    if port in installed.replicas:
        installed.stop(port)
        installed.wait_until_left_alone(port)


def _secret(installed: Installation) -> dict[str, bytes]:
    data = installed.kubectl.get("secret", _SECRET, "-n", NAME)["data"]
    return {key: base64.b64decode(value) for key, value in data.items()}


@pytest.mark.parametrize("hours", [pytest.param(2, id="2 h ahead"), pytest.param(-2, id="2 h behind")])
def test_a_person_with_a_wrong_clock(installed: Installation, hours: int) -> None:
    """Nothing is issued, and it is told why."""
    before = _secret(installed)
    told = installed.evenkeel("certs", "rotate", "-n", NAME, hours_ahead=hours)

    assert 3 == told.code
    assert f"is 2 hours {'ahead of' if hours > 0 else 'behind'} the API server's" in told.err
    assert before == _secret(installed)


def test_a_replica_with_a_wrong_clock(installed: Installation, third_place: int) -> None:
    """It serves what the API server's clock finds valid, says what is wrong, and leaves the Lease alone."""
    before = _secret(installed)
    installed.start(third_place, hours_ahead=_AHEAD_H)
    installed.wait_until_chosen(third_place)
    health = eventually(lambda: (found := installed.health(third_place))[1].get("warnings") and found)
    others = list(installed.replicas)
    eventually(lambda: [0.0] == [installed.gauge(port, "evenkeel_leader") for port in [third_place]])

    assert HTTPStatus.OK == health[0]
    assert ["the clock of this machine is 250 days ahead of the API server's"] == health[1]["warnings"]
    assert before == _secret(installed)
    assert all(installed.health(port)[0] == HTTPStatus.OK for port in others)


def test_a_certificate_of_a_wrong_clock(installed: Installation) -> None:
    """A certificate that is valid from next year on is served by no replica, and replaced by the leader."""
    names = parse_names(service=Service(name=NAME, namespace=NAME))
    keyring = parse_keyring(_secret(installed), _SECRET)
    ahead = datetime.now(UTC) + timedelta(hours=_AHEAD_H)
    spoiled = issue_serving(keyring, names, now=ahead).data()
    data = {key: base64.b64encode(value).decode() for key, value in spoiled.items()}
    patch = {"data": data}
    installed.kubectl.do("patch", "secret", _SECRET, "-n", NAME, "--type=merge", "-p", json.dumps(patch))
    mended = eventually(lambda: _valid(installed))
    dry_run = installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=deployment())

    assert mended["tls.crt"] != spoiled["tls.crt"]
    assert 0 == dry_run.code, dry_run.err
    assert [HTTPStatus.OK] * len(installed.replicas) == [
        installed.health(port)[0] for port in installed.replicas
    ]


def _valid(installed: Installation) -> dict[str, bytes] | None:
    """Return the Secret if its certificate is valid now."""
    found = _secret(installed)
    serving = parse_keyring(found, _SECRET).serving
    return found if serving and not serving.not_yet_valid(datetime.now(UTC)) else None


def test_rights_that_are_gone(
    installed: Installation, kubectl: Kubectl, third_place: int, space: str
) -> None:
    """A replica whose picture grew old stays in the Service: fields are checked, the rest is withheld."""
    installed.start(third_place, max_age_s=_MAX_AGE_S)
    installed.wait_until_chosen(third_place)
    kubectl.do("delete", "clusterrolebinding", f"{NAME}-cluster")
    try:
        refused = eventually(lambda: _warned(installed, third_place, "refuses to list or watch"))
        health = installed.health(third_place)
        bad = _reviewed(installed, third_place, deployment(constraints=[constraint(maxSkew=0)]))
        good = _reviewed(installed, third_place, deployment(constraints=[constraint()]))
        through = kubectl("create", "--dry-run=server", "-f", "-", stdin=deployment())
    finally:
        kubectl.do("apply", "-f", "-", stdin=installed.manifests)
        back_at = time.monotonic()
    eventually(lambda: "warnings" not in installed.health(third_place)[1])
    missed_s = time.monotonic() - back_at

    assert refused
    # By then the pauses between the attempts had been the longest.
    assert missed_s <= BACK_WITHIN_S
    assert (HTTPStatus.OK, "ok") == (health[0], health[1]["status"])
    assert (False, True) == (bad["allowed"], good["allowed"])
    assert any("withheld" in key for key in good.get("auditAnnotations", {}))
    assert 0 == through.code, through.err


def _warned(installed: Installation, port: int, text: str) -> bool:
    return any(text in warning for warning in installed.health(port)[1].get("warnings", ()))


def _reviewed(installed: Installation, port: int, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a replica's answer to the API server's review of an object."""
    status, text = asked(port, installed.path("/validate"), body=json.loads(review_of(obj)))
    assert status == HTTPStatus.OK, text
    answer: dict[str, Any] = json.loads(text)["response"]
    return answer


def test_an_api_server_that_hangs(
    installed: Installation, control_plane: ControlPlane, third_place: int
) -> None:
    """Longer than a picture may be old: the replica stays in the Service, and says that it is old."""
    installed.start(third_place, max_age_s=_MAX_AGE_S)
    installed.wait_until_chosen(third_place)
    with control_plane.hanging("kube-apiserver"):
        eventually(lambda: _warned(installed, third_place, "s old"))
        status, _ = installed.health(third_place)
        answer = _reviewed(installed, third_place, deployment(constraints=[constraint(maxSkew=0)]))
    eventually(lambda: "warnings" not in installed.health(third_place)[1])

    assert HTTPStatus.OK == status
    assert not answer["allowed"]


def test_a_registration_that_is_gone(installed: Installation, kubectl: Kubectl) -> None:
    """Nobody is asked any more: a metric, /readyz and doctor say so, and nobody leaves the Service."""
    series = [f'evenkeel_webhook_registered{{webhook="{webhook}"}}' for webhook in ("mutate", "validate")]

    def registered() -> list[float]:
        return [installed.gauge(port, name) for port in installed.replicas for name in series]

    eventually(lambda: all(registered()))
    # What drills before left behind is over.
    eventually(lambda: not any("warnings" in installed.health(port)[1] for port in installed.replicas))
    for kind in CONFIGURATIONS:
        kubectl.do("delete", kind, NAME)
    try:
        eventually(lambda: not any(registered()))
        health = [installed.health(port, token=installed.client_token) for port in installed.replicas]
        doctor = installed.evenkeel("doctor", "-o", "json")
    finally:
        kubectl.do("apply", "-f", "-", stdin=installed.manifests)
    eventually(lambda: all(registered()))
    dry_run = ("create", "--dry-run=server", "-f", "-")
    eventually(lambda: kubectl(*dry_run, stdin=deployment()).code == 0)

    assert all(status == HTTPStatus.OK and len(body["warnings"]) == 2 for status, body in health)
    assert "webhooks-registered" in {
        found["check"] for found in json.loads(doctor.out)["findings"] if found["status"] == "problem"
    }


#: The first release whose API server evaluates conditions of webhooks by itself.
CONDITIONS = pytest.mark.kubernetes(since="1.28")


@pytest.mark.parametrize(
    "change",
    [
        *(
            pytest.param(IDLE[name], id=name)
            for name in (
                "a wrong path",
                "the other webhook's path",
                "rules of another group",
                "a namespaceSelector that selects nothing",
                "an objectSelector that selects nothing",
            )
        ),
        pytest.param(IDLE["a condition that is false"], id="a condition that is false", marks=CONDITIONS),
        pytest.param(
            lambda webhook: webhook.update(matchConditions=[{"name": "off", "expression": "1 == 2"}]),
            id="a condition that nobody evaluates",
            marks=CONDITIONS,
        ),
        pytest.param(
            lambda webhook: [rule.update(operations=["CREATE"]) for rule in webhook["rules"]],
            id="no updates",
        ),
        pytest.param(
            lambda webhook: webhook.update(
                namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "default"}}
            ),
            id="one namespace",
        ),
    ],
)
def test_a_webhook_that_leaves_objects_out(
    installed: Installation, kubectl: Kubectl, change: Callable[[dict[str, Any]], object]
) -> None:
    """The doctor has a problem, replicas warn, and nobody leaves the Service."""
    kind = CONFIGURATIONS[1]
    configuration = kubectl.get(kind, NAME)
    change(configuration["webhooks"][0])
    configuration["webhooks"][0]["failurePolicy"] = "Ignore"
    configuration["metadata"] = {"name": NAME}
    kubectl.do("apply", "-f", "-", stdin=configuration)
    try:
        health = eventually(lambda: _all_warn(installed))
        doctor = eventually(
            lambda: told if (told := installed.evenkeel("doctor", "-o", "json")).code == 1 else None
        )
    finally:
        kubectl.do("apply", "-f", "-", stdin=installed.manifests)
    eventually(lambda: not any(body.get("warnings") for _, body in _all_health(installed)))

    problems = {
        found["check"] for found in json.loads(doctor.out)["findings"] if found["status"] == "problem"
    }
    assert "webhooks-registered" in problems
    assert all(status == HTTPStatus.OK for status, _ in health)


def _all_warn(installed: Installation) -> list[tuple[int, Any]]:
    """Return the health of all replicas as soon as all warn."""
    found = _all_health(installed)
    return found if all(body.get("warnings") for _, body in found) else []


def _all_health(installed: Installation) -> list[tuple[int, Any]]:
    return [installed.health(port) for port in installed.replicas]


@pytest.mark.parametrize("which", ["kube-apiserver", "etcd"])
def test_doctor_while_the_control_plane_hangs(
    installed: Installation, control_plane: ControlPlane, which: str
) -> None:
    """It ends, with a sentence."""
    with control_plane.hanging(which):
        told = installed.evenkeel("doctor", "-n", NAME)
    eventually(lambda: control_plane.kubectl("get", "--raw", "/readyz").code == 0)

    assert 3 == told.code, told.out
    assert "hangs" in told.out + told.err
    assert "_ssl" not in told.out + told.err
