"""The controller of one replica, by itself and with others, while the API server comes and goes."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from certs.ca import create_ca, issue
from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.keypair import KeyPair
from certs.keyring import Keyring, serving_data
from certs.names import Target, parse_names
from certs.rotate import Trust, rotate
from tests.certs.builders import CA, NOW, read_serving
from tests.waiting import eventually
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    VALIDATING,
    Objects,
    a_cluster,
    a_configuration,
)
from tests.webhook.registrations import IDLE, ONLY_TOLD
from webhook.cert_rotation.cluster_objects import Configuration
from webhook.cert_rotation.controller import CertificateController
from webhook.cert_rotation.reconcile import ClockError, Reconciler
from webhook.kube.api_server import ApiError, UnreachableError
from webhook.registration import RegistrationDifferences, Surroundings, compare
from webhook.telemetry.metrics import Telemetry

LONG_AGO = create_ca(NOW - timedelta(days=400))


#: The namespaces, and that no object has the labels of any selector.
KNOWN = Surroundings(
    namespace="evenkeel",
    namespaces={name: {"kubernetes.io/metadata.name": name} for name in ("kube-system", "evenkeel", "shop")},
    selects=lambda _selector: False,
)


def judged(configuration: Configuration) -> RegistrationDifferences:
    return compare(configuration.kind, configuration.name, configuration.webhooks, KNOWN)


class Election:
    """Makes leaders by hand."""

    def __init__(self) -> None:
        self.callbacks: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.resigned = 0

    def __call__(self, started: Callable[[], None], stopped: Callable[[], None]) -> Callable[[], None]:
        """Take a candidate."""
        self.callbacks.append((started, stopped))
        return self._resign

    def _resign(self) -> None:
        self.resigned += 1


class Controllers:
    """Makes controllers of one cluster and stops them."""

    def __init__(self, cluster: Objects, folder: Path) -> None:
        self.cluster = cluster
        #: How far the replicas' clock is ahead.
        self.ahead = timedelta(0)
        self.election = Election()
        self.made: list[CertificateController] = []
        self._folder = folder

    def make(self, *, folder: Path | None = None) -> CertificateController:
        """Return a controller that looks all the time, by default with a folder of its own."""
        reconciler = Reconciler(self.cluster, Target(), now=lambda: datetime.now(UTC) + self.ahead)
        folder = folder or self._folder / str(len(self.made))
        controller = CertificateController(reconciler, folder, elect=self.election, judge=judged)
        self.made.append(controller)
        return controller

    def started(self, *, leads: bool = False) -> CertificateController:
        """Return a controller that serves and follows."""
        controller = self.make()
        controller.provision()
        controller.start()
        if leads:
            self.election.callbacks[-1][0]()
        return controller


@pytest.fixture
def controllers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controllers]:
    """Give controllers of a cluster with both webhook configurations."""
    # Publication counts at once, and a look follows another, so that no test waits for seconds.
    for name in ("SETTLE", "ADOPT"):
        monkeypatch.setattr(f"certs.rotate.{name}", timedelta(0))
    for name in ("LOOK_EVERY_S", "LOOK_AGAIN_S"):
        monkeypatch.setattr(f"webhook.cert_rotation.controller.{name}", 0.01)
    made = Controllers(a_cluster(), tmp_path)
    yield made
    for each in made.made:
        each.stop()


def _never(_seconds: float) -> None:
    raise AssertionError("waiting gives nobody rights")


def served(controller: CertificateController) -> KeyPair:
    """Return the objects that a controller has written."""
    return read_serving(controller.certificate.parent)


def put_serving(cluster: Objects, pair: KeyPair) -> None:
    """Write another serving pair into the Secret, as anybody might."""
    secret = cluster.objects[SECRET]
    files = {key: base64.b64encode(value).decode() for key, value in serving_data(pair).items()}
    cluster.put(SECRET, {**secret, "data": {**secret["data"], **files}})


class TestProvision:
    """Before anybody listens."""

    def test_two_at_once(self, controllers: Controllers) -> None:
        """One makes the Secret, the other serves the same."""
        first, second = controllers.make(), controllers.make()
        controllers.cluster.before_write = first.provision
        second.provision()

        assert served(first) == served(second)
        assert [path for _, path in controllers.cluster.writes] == [SECRET.rpartition("/")[0]]
        assert "evenkeel.evenkeel.svc" in served(second).names

    def test_a_wrong_clock_makes_nothing(self, controllers: Controllers) -> None:
        """Whoever starts 2 h ahead takes what there is, and where nothing is, ends with the reason."""
        controllers.cluster.clock = lambda: datetime.now(UTC)
        controllers.ahead = timedelta(hours=2)
        with pytest.raises(ClockError, match="2 hours ahead"):
            controllers.make().provision()
        controllers.ahead = timedelta(0)
        first, second = controllers.make(), controllers.make()
        first.provision()
        controllers.ahead = timedelta(days=3650)
        second.provision()

        assert served(first) == served(second)

    def test_it_waits_for_the_api_server(self, controllers: Controllers) -> None:
        """An API server that comes back in time is waited for."""
        controller = controllers.make()
        controllers.cluster.down = True

        def come_back(_seconds: float) -> None:
            controllers.cluster.down = False

        controller.provision(sleep=come_back)

        assert controller.problem().startswith("MutatingWebhookConfiguration evenkeel: the caBundle of")

    def test_it_does_not_wait_for_ever(self, controllers: Controllers) -> None:
        """Who is not answered in time ends, and says by whom."""
        controllers.cluster.down = True
        pauses: list[float] = []
        with pytest.raises(UnreachableError):
            controllers.make().provision(timeout_s=0.05, sleep=pauses.append)

        assert sum(pauses) >= 0.05

    @pytest.mark.parametrize("path", [SECRET, MUTATING], ids=["Secret", "configuration"])
    def test_it_may_not(self, controllers: Controllers, path: str) -> None:
        """Waiting gives nobody rights."""
        controllers.cluster.forbidden.add(path)
        with pytest.raises(ApiError, match="forbidden"):
            controllers.make().provision(sleep=_never)

    def test_a_broken_secret_is_mended(self, controllers: Controllers) -> None:
        """There may be no leader, and nothing better to serve."""
        controllers.cluster.put(SECRET, {"data": {"tls.crt": "eA=="}})
        controller = controllers.make()
        controller.provision()

        assert served(controller).names[0] == "evenkeel"


class TestFollowing:
    """While requests are served."""

    def test_a_leader_publishes(self, controllers: Controllers) -> None:
        """From nothing to trusted; then nothing more is written."""
        leader, follower = controllers.started(leads=True), controllers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        writes = len(controllers.cluster.writes)
        seen = leader._observed
        eventually(lambda: leader._observed is not seen)

        assert leader.leading
        assert not follower.leading
        assert leader.authority_expiry == follower.authority_expiry is not None
        assert len(controllers.cluster.writes) == writes == 3

    def test_a_follower_writes_nothing(self, controllers: Controllers) -> None:
        """Who does not lead only says what is wrong."""
        follower = controllers.started()
        seen = follower._observed
        eventually(lambda: follower._observed is not seen)

        assert "is empty or broken" in follower.problem()
        assert len(controllers.cluster.writes) == 1

    def test_a_new_certificate_is_adopted(self, controllers: Controllers) -> None:
        """All replicas serve what the authority has signed anew."""
        leader, follower = controllers.started(leads=True), controllers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        keyring = Reconciler(controllers.cluster, Target(), now=lambda: NOW).observe().keyring
        assert keyring.ca is not None
        renewed = issue(keyring.ca, Target().names(), now=NOW)
        put_serving(controllers.cluster, renewed)
        eventually(lambda: served(leader) == served(follower) == renewed)

        assert (leader.problem(), follower.problem()) == ("", "")

    @pytest.mark.parametrize(
        "pair",
        [
            pytest.param(issue(CA, Target().names(), now=NOW), id="of 0 known authorities"),
            pytest.param(issue(CA, parse_names(["other"]), now=NOW), id="for 1 other name"),
            pytest.param(
                issue(LONG_AGO, Target().names(), now=NOW - timedelta(days=400)),
                id="ended 35 days ago",
            ),
            pytest.param(
                issue(CA, Target().names(), now=NOW + timedelta(days=250)),
                id="begins in 250 days",
            ),
        ],
    )
    def test_what_nobody_would_trust_is_not_served(self, controllers: Controllers, pair: KeyPair) -> None:
        """The last good pair stays, and the leader puts another into the Secret."""
        leader, follower = controllers.started(leads=True), controllers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        put_serving(controllers.cluster, pair)
        eventually(lambda: ("PUT", SECRET) in controllers.cluster.writes)
        eventually(lambda: served(leader) == served(follower) != pair)

        assert (leader.problem(), follower.problem()) == ("", "")

    @pytest.mark.parametrize("lost", ["deleted", "emptied", "garbage"])
    def test_a_lost_secret_is_made_anew(self, controllers: Controllers, lost: str) -> None:
        """Nobody is without trust meanwhile: old authorities stay in the bundles."""
        leader, follower = controllers.started(leads=True), controllers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        before = served(leader)
        secret = controllers.cluster.objects.pop(SECRET)
        if lost != "deleted":
            data = {"tls.crt": "eA=="} if lost == "garbage" else {}
            controllers.cluster.put(SECRET, {**secret, "data": data})
        eventually(lambda: served(leader) == served(follower) != before)

        assert (leader.problem(), follower.problem()) == ("", "")

    def test_all_was_made_by_a_clock_that_is_ahead(self, controllers: Controllers) -> None:
        """A Secret that another release filled 250 days ahead never reaches a client, and is mended."""
        leader, follower = controllers.started(leads=True), controllers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        before, ahead = served(leader), NOW + timedelta(days=250)
        made = rotate(Keyring(), Trust(), names=Target().names(), now=ahead).keyring
        data = {key: base64.b64encode(value).decode() for key, value in made.data().items()}
        controllers.cluster.put(SECRET, {**controllers.cluster.objects[SECRET], "data": data})
        eventually(lambda: ("PUT", SECRET) in controllers.cluster.writes)
        eventually(lambda: served(leader) == served(follower) != before)

        assert served(leader) != made.serving
        assert not served(leader).not_yet_valid(NOW)
        assert (leader.problem(), follower.problem()) == ("", "")

    def test_metrics(self, controllers: Controllers) -> None:
        """They say who leads, what is registered, when the CA ends, and whether it is trusted."""
        telemetry = Telemetry("1", registry=CollectorRegistry())
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem() and leader.registered())
        leader.observe(telemetry)
        lines = telemetry.render().decode().splitlines()

        assert leader.authority_expiry is not None
        name = "evenkeel_authority_expiry_timestamp_seconds "
        assert {"evenkeel_leader 1.0", "evenkeel_ca_bundle_current 1.0"} <= set(lines)
        assert [float(line.split()[1]) for line in lines if line.startswith(name)] == [
            leader.authority_expiry.timestamp()
        ]
        assert 2 == sum(line.startswith("evenkeel_webhook_registered{") for line in lines)
        assert any(line.startswith("evenkeel_clock_skew_seconds ") for line in lines)

    def test_a_wrong_clock(self, controllers: Controllers, caplog: pytest.LogCaptureFixture) -> None:
        """A replica 250 days ahead judges by the API server's clock, signs nothing, and lets others lead."""
        controllers.cluster.clock = lambda: datetime.now(UTC)
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem() and not leader.warnings())
        controllers.ahead = timedelta(days=250)
        eventually(lambda: controllers.election.resigned == 1)
        controllers.cluster.put(SECRET, {**controllers.cluster.objects[SECRET], "data": {}})
        seen = leader._observed
        eventually(lambda: leader._observed is not seen and "certificate_secret_broken" in caplog.messages)
        written = ("PUT", SECRET) in controllers.cluster.writes
        told, problem = leader.warnings(), leader.problem()
        controllers.ahead = timedelta(0)
        eventually(lambda: len(controllers.election.callbacks) == 2)
        eventually(lambda: ("PUT", SECRET) in controllers.cluster.writes and not leader.warnings())

        assert (False, "") == (written, problem)
        assert ["the clock of this machine is 250 days ahead of the API server's"] == told
        assert 1 == caplog.messages.count("clock_differs")

    def test_an_overwritten_bundle_is_put_back(self, controllers: Controllers) -> None:
        """It is told until it is mended."""
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        follower = controllers.started()
        controllers.election.callbacks[0][1]()
        eventually(lambda: not leader.leading)
        bundle = encode_bundle([CA.certificate])
        controllers.cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1], bundle=bundle))
        eventually(lambda: "does not lead to the served certificate" in follower.problem())
        controllers.election.callbacks[1][0]()

        assert eventually(lambda: not leader.problem() and not follower.problem())

    def test_an_outage(self, controllers: Controllers, caplog: pytest.LogCaptureFixture) -> None:
        """The serving certificate is kept and stays valid; the outage is reported once, as is its end."""
        caplog.set_level(logging.INFO, logger="evenkeel")
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        before = served(leader)
        controllers.cluster.down = True
        eventually(lambda: "certificates_unavailable" in caplog.messages)
        during = leader.problem()
        controllers.cluster.down = False
        eventually(lambda: "certificates_unavailable_resolved" in caplog.messages)

        assert ("", before) == (during, served(leader))
        assert caplog.messages.count("certificates_unavailable") == 1

    def test_what_nobody_foresaw(
        self, controllers: Controllers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is told with its traceback, what is served stays in order, and the next look comes."""
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        monkeypatch.setattr(controllers.cluster, "call", lambda *_, **__: {"metadata": None})
        eventually(lambda: "certificates_unavailable" in caplog.messages)
        during = leader.problem()
        monkeypatch.undo()
        controllers.cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1]))

        assert not during
        assert eventually(
            lambda: controllers.cluster.objects[VALIDATING]["webhooks"][0]["clientConfig"].get("caBundle")
        )
        assert [True] == [
            bool(record.exc_info) for record in caplog.records if record.msg == "certificates_unavailable"
        ]

    def test_a_process_that_takes_over(self, controllers: Controllers) -> None:
        """The certificate of another process is served until there is a better one, not just any other."""
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        before = served(leader)
        leader.stop()
        put_serving(controllers.cluster, issue(CA, Target().names(), now=NOW))
        successor = controllers.make(folder=leader.certificate.parent)
        successor.start()
        eventually(lambda: not successor.problem())

        assert before == served(successor)

    def test_uninstalled(self, controllers: Controllers, caplog: pytest.LogCaptureFixture) -> None:
        """Configurations that are gone are told; nobody calls, so nothing is wrong."""
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        for path in (MUTATING, VALIDATING):
            del controllers.cluster.objects[path]
        eventually(lambda: "webhook_configuration_missing" in caplog.messages)

        assert leader.problem() == ""
        assert {"mutate": False, "validate": False} == leader.registered()
        assert [True, True] == ["does not exist" in line for line in leader.warnings()]

    @pytest.mark.parametrize("change", IDLE, ids=IDLE.keys())
    def test_a_webhook_that_reviews_nothing(
        self, controllers: Controllers, caplog: pytest.LogCaptureFixture, change: str
    ) -> None:
        """It is told, and what is served and who serves stays as it is."""
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem() and leader.registered().get("validate"))
        IDLE[change](controllers.cluster.objects[VALIDATING]["webhooks"][0])
        eventually(lambda: "webhook_configuration_incomplete" in caplog.messages)

        assert {"mutate": True, "validate": change in ONLY_TOLD} == leader.registered()
        assert leader.warnings()
        assert not leader.problem()

    def test_the_end(self, controllers: Controllers) -> None:
        """The Lease is given back, the thread ends, and what is served stays."""
        controller = controllers.started()
        before = served(controller)
        controller.stop()

        assert controllers.election.resigned == 1
        assert not controller.running
        assert before == served(controller)

    def test_nothing_private_is_logged(
        self, controllers: Controllers, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Not the keys of the Secret, in no encoding, in no line."""
        caplog.set_level(logging.DEBUG)
        leader = controllers.started(leads=True)
        eventually(lambda: not leader.problem())
        controllers.cluster.objects[SECRET]["data"]["tls.crt"] = "eA=="
        keyring = leader._observed.keyring if leader._observed else None
        eventually(lambda: "certificate_secret_broken" in caplog.messages)
        lines = " ".join(str(vars(record)) for record in caplog.records)
        assert keyring is not None
        secrets = [value for key, value in keyring.data().items() if key.endswith(".key")]

        assert len(secrets) == 2
        for secret in secrets:
            body = b"".join(secret.splitlines()[1:-1]).decode()
            assert body[:30] not in lines
            assert base64.b64encode(secret).decode()[60:90] not in lines
