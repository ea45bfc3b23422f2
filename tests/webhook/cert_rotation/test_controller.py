"""The keeper of one replica, by itself and with others, while the API server comes and goes."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import store
from certs.ca import create_ca
from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.issue import issue
from certs.keypair import KeyPair
from certs.keyring import Keyring, keyring_data
from certs.names import parse_names
from certs.rotate import Lifetimes, Publication, Step, carry_out
from tests.certs.builders import AUTHORITY, NOW, read_serving
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    VALIDATING,
    Objects,
    a_cluster,
    a_configuration,
)
from tests.webhook.kube.api_server import eventually
from webhook.cert_rotation.controller import CertificateController
from webhook.cert_rotation.manual import ClockError
from webhook.cert_rotation.reconcile import Reconciler, Target
from webhook.kube.api_server import ApiError, UnreachableError

#: Publication counts at once, so that nobody waits for seconds.
LIFETIMES = Lifetimes(settle=timedelta(0), adopt=timedelta(0))


LONG_AGO = create_ca(NOW - timedelta(days=400))


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


class Keepers:
    """Makes keepers of one cluster and stops them."""

    def __init__(self, cluster: Objects, folder: Path) -> None:
        self.cluster = cluster
        #: How far the replicas' clock is ahead.
        self.ahead = timedelta(0)
        self.election = Election()
        self.made: list[CertificateController] = []
        self._folder = folder

    def make(self, *, folder: Path | None = None, lifetimes: Lifetimes = LIFETIMES) -> CertificateController:
        """Return a keeper that looks all the time, by default with a folder of its own."""
        keeper = CertificateController(
            Reconciler(
                self.cluster,
                Target(namespace="evenkeel"),
                now=lambda: datetime.now(UTC) + self.ahead,
                lifetimes=lifetimes,
            ),
            folder or self._folder / str(len(self.made)),
            elect=self.election,
            look_every_s=0.01,
            look_again_s=0.01,
        )
        self.made.append(keeper)
        return keeper

    def started(self, *, leads: bool = False) -> CertificateController:
        """Return a keeper that serves and follows."""
        keeper = self.make()
        keeper.provision()
        keeper.start()
        if leads:
            self.election.callbacks[-1][0]()
        return keeper


@pytest.fixture
def keepers(tmp_path: Path) -> Iterator[Keepers]:
    """Give keepers of a cluster with both webhook configurations."""
    made = Keepers(a_cluster(), tmp_path)
    yield made
    for keeper in made.made:
        keeper.stop()


def _never(_pause_s: float) -> None:
    raise AssertionError("waiting gives nobody rights")


def served(keeper: CertificateController) -> KeyPair:
    """Return what a keeper has written."""
    return read_serving(keeper.certificate.parent)


def put_serving(cluster: Objects, pair: KeyPair) -> None:
    """Write another serving pair into the Secret, as anybody might."""
    secret = cluster.objects[SECRET]
    files = {key: base64.b64encode(value).decode() for key, value in store.serving_files(pair).items()}
    cluster.put(SECRET, {**secret, "data": {**secret["data"], **files}})


class TestProvision:
    """Before anybody listens."""

    def test_two_at_once(self, keepers: Keepers) -> None:
        """One makes the Secret, the other serves the same."""
        first, second = keepers.make(), keepers.make()
        keepers.cluster.before_write = first.provision
        second.provision()

        assert served(first) == served(second)
        assert [path for _, path in keepers.cluster.writes] == [SECRET.rpartition("/")[0]]
        assert "evenkeel.evenkeel.svc" in served(second).names

    def test_a_wrong_clock_makes_nothing(self, keepers: Keepers) -> None:
        """Whoever starts 2 h ahead takes what there is, and where nothing is, ends with the reason."""
        keepers.cluster.clock = lambda: datetime.now(UTC)
        keepers.ahead = timedelta(hours=2)
        with pytest.raises(ClockError, match="2 hours ahead"):
            keepers.make().provision()
        keepers.ahead = timedelta(0)
        first, second = keepers.make(), keepers.make()
        first.provision()
        keepers.ahead = timedelta(days=3650)
        second.provision()

        assert served(first) == served(second)

    def test_it_waits_for_the_api_server(self, keepers: Keepers) -> None:
        """An API server that comes back in time is waited for."""
        keeper = keepers.make()
        keepers.cluster.down = True

        def come_back(_pause_s: float) -> None:
            keepers.cluster.down = False

        keeper.provision(wait=come_back)

        assert keeper.problem().startswith("MutatingWebhookConfiguration evenkeel: the caBundle of")

    def test_it_does_not_wait_for_ever(self, keepers: Keepers) -> None:
        """Who is not answered in time ends, and says by whom."""
        keepers.cluster.down = True
        pauses: list[float] = []
        with pytest.raises(UnreachableError):
            keepers.make().provision(patience_s=0.05, wait=pauses.append)

        assert sum(pauses) >= 0.05

    @pytest.mark.parametrize("path", [SECRET, MUTATING], ids=["Secret", "configuration"])
    def test_it_may_not(self, keepers: Keepers, path: str) -> None:
        """Waiting gives nobody rights."""
        keepers.cluster.forbidden.add(path)
        with pytest.raises(ApiError, match="forbidden"):
            keepers.make().provision(wait=_never)

    def test_a_broken_secret_is_mended(self, keepers: Keepers) -> None:
        """There may be no leader, and nothing better to serve."""
        keepers.cluster.put(SECRET, {"data": {"tls.crt": "eA=="}})
        keeper = keepers.make()
        keeper.provision()

        assert served(keeper).names[0] == "evenkeel"


class TestFollowing:
    """While requests are served."""

    def test_a_leader_publishes(self, keepers: Keepers) -> None:
        """From nothing to trusted; then nothing more is written."""
        leader, follower = keepers.started(leads=True), keepers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        writes = len(keepers.cluster.writes)
        view = leader._view
        eventually(lambda: leader._view is not view)

        assert leader.leading
        assert not follower.leading
        assert leader.authority_expiry == follower.authority_expiry is not None
        assert len(keepers.cluster.writes) == writes == 3

    def test_a_follower_writes_nothing(self, keepers: Keepers) -> None:
        """Who does not lead only says what is wrong."""
        follower = keepers.started()
        view = follower._view
        eventually(lambda: follower._view is not view)

        assert "is empty or broken" in follower.problem()
        assert len(keepers.cluster.writes) == 1

    def test_a_new_certificate_is_adopted(self, keepers: Keepers) -> None:
        """All replicas serve what the authority has signed anew."""
        leader, follower = keepers.started(leads=True), keepers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        keyring = Reconciler(keepers.cluster, Target(namespace="evenkeel"), now=lambda: NOW).look().keyring
        assert keyring.active is not None
        renewed = issue(keyring.active, Target(namespace="evenkeel").names(), now=NOW)
        put_serving(keepers.cluster, renewed)
        eventually(lambda: served(leader) == served(follower) == renewed)

        assert (leader.problem(), follower.problem()) == ("", "")

    @pytest.mark.parametrize(
        "pair",
        [
            pytest.param(
                issue(AUTHORITY, Target(namespace="evenkeel").names(), now=NOW), id="of 0 known authorities"
            ),
            pytest.param(issue(AUTHORITY, parse_names(["other"]), now=NOW), id="for 1 other name"),
            pytest.param(
                issue(LONG_AGO, Target(namespace="evenkeel").names(), now=NOW - timedelta(days=400)),
                id="ended 35 days ago",
            ),
            pytest.param(
                issue(AUTHORITY, Target(namespace="evenkeel").names(), now=NOW + timedelta(days=250)),
                id="begins in 250 days",
            ),
        ],
    )
    def test_what_nobody_would_trust_is_not_served(self, keepers: Keepers, pair: KeyPair) -> None:
        """The last good pair stays, and the leader puts another into the Secret."""
        leader, follower = keepers.started(leads=True), keepers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        put_serving(keepers.cluster, pair)
        eventually(lambda: ("PUT", SECRET) in keepers.cluster.writes)
        eventually(lambda: served(leader) == served(follower) != pair)

        assert (leader.problem(), follower.problem()) == ("", "")

    @pytest.mark.parametrize("lost", ["deleted", "emptied", "garbage"])
    def test_a_lost_secret_is_made_anew(self, keepers: Keepers, lost: str) -> None:
        """Nobody is without trust meanwhile: old authorities stay in the bundles."""
        leader, follower = keepers.started(leads=True), keepers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        before = served(leader)
        secret = keepers.cluster.objects.pop(SECRET)
        if lost != "deleted":
            data = {"tls.crt": "eA=="} if lost == "garbage" else {}
            keepers.cluster.put(SECRET, {**secret, "data": data})
        eventually(lambda: served(leader) == served(follower) != before)

        assert (leader.problem(), follower.problem()) == ("", "")

    def test_all_was_made_by_a_clock_that_is_ahead(self, keepers: Keepers) -> None:
        """A Secret that another release filled 250 days ahead never reaches a client, and is mended."""
        leader, follower = keepers.started(leads=True), keepers.started()
        eventually(lambda: not leader.problem() and not follower.problem())
        names = Target(namespace="evenkeel").names()
        before = served(leader)
        ahead = carry_out(Step.MAKE, Keyring(), Publication(), names=names, now=NOW + timedelta(days=250))
        data = {key: base64.b64encode(value).decode() for key, value in keyring_data(ahead).items()}
        keepers.cluster.put(SECRET, {**keepers.cluster.objects[SECRET], "data": data})
        eventually(lambda: ("PUT", SECRET) in keepers.cluster.writes)
        eventually(lambda: leader._view is not None and leader._view.keyring.serving == served(follower))

        # Who signed it is lost, and still trusted: better than another that nobody trusts yet.
        assert before == served(leader) == served(follower)
        assert (leader.problem(), follower.problem()) == ("", "")

    def test_a_wrong_clock(self, keepers: Keepers, caplog: pytest.LogCaptureFixture) -> None:
        """A replica 250 days ahead judges by the API server's clock, signs nothing, and lets others lead."""
        keepers.cluster.clock = lambda: datetime.now(UTC)
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem() and not leader.warnings())
        keepers.ahead = timedelta(days=250)
        eventually(lambda: keepers.election.resigned == 1)
        keepers.cluster.put(SECRET, {**keepers.cluster.objects[SECRET], "data": {}})
        view = leader._view
        eventually(lambda: leader._view is not view and "certificate_secret_broken" in caplog.messages)
        written = ("PUT", SECRET) in keepers.cluster.writes
        told, problem = leader.warnings(), leader.problem()
        keepers.ahead = timedelta(0)
        eventually(lambda: len(keepers.election.callbacks) == 2)
        eventually(lambda: ("PUT", SECRET) in keepers.cluster.writes and not leader.warnings())

        assert (False, "") == (written, problem)
        assert ["the clock of this machine is 250 days ahead of the API server's"] == told
        assert 1 == caplog.messages.count("clock_differs")

    def test_an_overwritten_bundle_is_put_back(self, keepers: Keepers) -> None:
        """It is told until it is mended."""
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        follower = keepers.started()
        keepers.election.callbacks[0][1]()
        eventually(lambda: not leader.leading)
        bundle = encode_bundle([AUTHORITY.certificate()])
        keepers.cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1], bundle=bundle))
        eventually(lambda: "does not lead to the served certificate" in follower.problem())
        keepers.election.callbacks[1][0]()

        assert eventually(lambda: not leader.problem() and not follower.problem())

    def test_an_outage(self, keepers: Keepers, caplog: pytest.LogCaptureFixture) -> None:
        """What is served stays and stays in order; it is told once, and once that it is over."""
        caplog.set_level(logging.INFO, logger="evenkeel")
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        before = served(leader)
        keepers.cluster.down = True
        eventually(lambda: "certificates_unavailable" in caplog.messages)
        during = leader.problem()
        keepers.cluster.down = False
        eventually(lambda: "certificates_unavailable_resolved" in caplog.messages)

        assert ("", before) == (during, served(leader))
        assert caplog.messages.count("certificates_unavailable") == 1

    def test_what_nobody_foresaw(
        self, keepers: Keepers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is told with its traceback, what is served stays in order, and the next look comes."""
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        monkeypatch.setattr(keepers.cluster, "call", lambda *_, **__: {"metadata": None})
        eventually(lambda: "certificates_unavailable" in caplog.messages)
        during = leader.problem()
        monkeypatch.undo()
        keepers.cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1]))

        assert not during
        assert eventually(
            lambda: keepers.cluster.objects[VALIDATING]["webhooks"][0]["clientConfig"].get("caBundle")
        )
        assert [True] == [
            bool(record.exc_info) for record in caplog.records if record.msg == "certificates_unavailable"
        ]

    def test_a_process_that_takes_over(self, keepers: Keepers) -> None:
        """What another process has provided is served until there is something better, not anything else."""
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        before = served(leader)
        leader.stop()
        put_serving(keepers.cluster, issue(AUTHORITY, Target(namespace="evenkeel").names(), now=NOW))
        successor = keepers.make(folder=leader.certificate.parent)
        successor.start()
        eventually(lambda: not successor.problem())

        assert before == served(successor)

    def test_uninstalled(self, keepers: Keepers, caplog: pytest.LogCaptureFixture) -> None:
        """Configurations that are gone are told; nobody calls, so nothing is wrong."""
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        for path in (MUTATING, VALIDATING):
            del keepers.cluster.objects[path]
        eventually(lambda: "webhook_configuration_missing" in caplog.messages)

        assert leader.problem() == ""
        assert {"mutate": False, "validate": False} == leader.registered()
        assert [True, True] == ["does not exist" in line for line in leader.warnings()]

    def test_the_end(self, keepers: Keepers) -> None:
        """The Lease is given back, the thread ends, and what is served stays."""
        keeper = keepers.started()
        before = served(keeper)
        keeper.stop()

        assert keepers.election.resigned == 1
        assert not keeper._thread.is_alive()
        assert before == served(keeper)

    def test_nothing_private_is_logged(self, keepers: Keepers, caplog: pytest.LogCaptureFixture) -> None:
        """Not the keys of the Secret, in no encoding, in no line."""
        caplog.set_level(logging.DEBUG)
        leader = keepers.started(leads=True)
        eventually(lambda: not leader.problem())
        keepers.cluster.objects[SECRET]["data"]["tls.crt"] = "eA=="
        keyring = leader._view.keyring if leader._view else None
        eventually(lambda: "certificate_secret_broken" in caplog.messages)
        lines = " ".join(str(vars(record)) for record in caplog.records)
        assert keyring is not None
        secrets = [value for key, value in keyring_data(keyring).items() if key.endswith(".key")]

        assert len(secrets) == 3
        for secret in secrets:
            body = b"".join(secret.splitlines()[1:-1]).decode()
            assert body[:30] not in lines
            assert base64.b64encode(secret).decode()[60:90] not in lines
