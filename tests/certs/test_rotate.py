"""The plan of a rotation as a table, its actions, and years of it with crashes at any moment."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.ca import create_ca, issue
from certs.errors import CertificateError
from certs.inspect import signer_of
from certs.keypair import KeyPair
from certs.keyring import Keyring, parse_keyring
from certs.names import Service, parse_names
from certs.rotate import (
    Action,
    Demand,
    Trust,
    is_better,
    issue_serving,
    plan_rotation,
    replace_ca,
    rotate,
    serving_problem,
)
from tests.certs.builders import DAY, NOW

NAMES = parse_names(service=Service(name="evenkeel", namespace="evenkeel"))
SECOND = timedelta(seconds=1)


def a_ca(*, left: int, of: int = 300) -> KeyPair:
    """Return a CA with so many of its days left."""
    return create_ca(NOW - (of - left) * DAY, lifetime=of * DAY)


def a_serving(ca: KeyPair, *, left: int = 60, of: int = 90, age: timedelta | None = None) -> KeyPair:
    """Return a serving pair with so many of its days left, or of an age."""
    issued = NOW - ((of - left) * DAY if age is None else age)
    return issue(ca, NAMES, now=issued, lifetime=of * DAY)


ACTIVE, OLD = a_ca(left=140), a_ca(left=60)
ENDING, ENDED = a_ca(left=99), a_ca(left=-1)
SERVING = a_serving(ACTIVE)
#: The CA of a leader whose clock is 130 days ahead.
AHEAD = 130 * DAY
FUTURE = create_ca(NOW + AHEAD, lifetime=300 * DAY)


def a_keyring(
    serving: KeyPair | None = SERVING, ca: KeyPair | None = ACTIVE, retired: Iterable[KeyPair] = ()
) -> Keyring:
    """Return a keyring, by default one of which nothing is due."""
    trusted = tuple(pair.certificate for pair in (ca, *retired) if pair)
    return Keyring(serving=serving, ca=ca, trusted=trusted)


def published(*cas: KeyPair, seconds: float = 60) -> Trust:
    """Return that two webhooks have trusted some CAs for so long."""
    bundle = frozenset(ca.certificate for ca in cas)
    return Trust().observe([bundle] * 2, NOW - timedelta(seconds=seconds))


TRUSTED = published(ACTIVE)


@pytest.mark.parametrize(
    ("keyring", "trust", "action"),
    [
        pytest.param(a_keyring(), TRUSTED, Action.KEEP, id="60 of 90 days, CA 140 of 300: nothing"),
        pytest.param(Keyring(), TRUSTED, Action.REPLACE_CA, id="0 keys"),
        pytest.param(a_keyring(ca=None), TRUSTED, Action.REPLACE_CA, id="a serving certificate and 0 CAs"),
        pytest.param(a_keyring(ca=ENDED), TRUSTED, Action.REPLACE_CA, id="a CA that ended"),
        pytest.param(
            a_keyring(a_serving(ENDING), ENDING), published(ENDING), Action.REPLACE_CA, id="CA 99 of 300 days"
        ),
        pytest.param(
            a_keyring(a_serving(ENDING, age=59 * SECOND), ENDING, [OLD]), published(ENDING, OLD), Action.WAIT,
            id="CA 99 of 300 days, served for 59 s, 1 retired that a replica may need",
        ),
        pytest.param(
            a_keyring(a_serving(ENDING, age=61 * SECOND), ENDING, [OLD]), published(ENDING, OLD),
            Action.REPLACE_CA,
            id="CA 99 of 300 days, served for 61 s, 1 retired",
        ),
        pytest.param(
            a_keyring(a_serving(OLD), ENDING, [OLD]), published(ENDING, OLD), Action.REPLACE_CA,
            id="CA 99 of 300 days that has signed nothing yet",
        ),
        pytest.param(
            a_keyring(a_serving(OLD), retired=[OLD]), published(OLD), Action.WAIT,
            id="a new CA, not published",
        ),
        pytest.param(
            a_keyring(a_serving(OLD), retired=[OLD]), published(ACTIVE, OLD, seconds=9), Action.WAIT,
            id="a new CA, published for 9 s",
        ),
        pytest.param(
            a_keyring(a_serving(OLD), retired=[OLD]), published(ACTIVE, OLD, seconds=10), Action.ISSUE,
            id="a new CA, published for 10 s",
        ),
        pytest.param(
            a_keyring(a_serving(OLD), retired=[OLD]), Trust(), Action.ISSUE, id="a new CA, 0 webhooks"
        ),
        pytest.param(a_keyring(a_serving(ACTIVE, left=29)), TRUSTED, Action.ISSUE, id="29 of 90 days"),
        pytest.param(a_keyring(a_serving(ACTIVE, left=31)), TRUSTED, Action.KEEP, id="31 of 90 days"),
        pytest.param(
            a_keyring(a_serving(ACTIVE, left=29)), published(OLD), Action.WAIT,
            id="29 of 90 days, CA not published",
        ),
        pytest.param(
            a_keyring(a_serving(ACTIVE, left=-1)), published(OLD), Action.ISSUE,
            id="ended 1 day ago, CA not published: better than nothing",
        ),
        pytest.param(a_keyring(serving=None), published(), Action.ISSUE, id="0 serving certificates"),
        pytest.param(
            a_keyring(issue(ACTIVE, parse_names(["evenkeel"]), now=NOW)), TRUSTED, Action.ISSUE,
            id="1 of 4 names",
        ),
        pytest.param(a_keyring(a_serving(ACTIVE, age=-AHEAD)), TRUSTED, Action.ISSUE, id="of 130 days ahead"),
        pytest.param(
            a_keyring(a_serving(FUTURE, age=-AHEAD), FUTURE), published(FUTURE), Action.REPLACE_CA,
            id="all of 130 days ahead",
        ),
    ],
)  # fmt: skip
def test_plan(keyring: Keyring, trust: Trust, action: Action) -> None:
    """A step that is due is taken as soon as no API server can meet a certificate that it does not trust."""
    plan = plan_rotation(keyring, trust, names=NAMES, now=NOW)

    assert action == plan.action
    assert bool(plan.reason) == (action is not Action.KEEP)


@pytest.mark.parametrize(
    ("demand", "trust", "action"),
    [
        pytest.param(Demand.SERVING, TRUSTED, Action.ISSUE, id="a certificate, 60 s published"),
        pytest.param(Demand.SERVING, published(ACTIVE, seconds=9), Action.WAIT, id="a certificate, 9 s"),
        pytest.param(Demand.CA, published(), Action.REPLACE_CA, id="a CA, whatever is published"),
        pytest.param(Demand.NOTHING, TRUSTED, Action.KEEP, id="nothing"),
    ],
)
def test_demands(demand: Demand, trust: Trust, action: Action) -> None:
    """A rotation that a user demands keeps the same order."""
    assert action == plan_rotation(a_keyring(), trust, names=NAMES, now=NOW, demand=demand).action


@pytest.mark.parametrize(
    ("keyring", "demand", "hours", "action"),
    [
        pytest.param(Keyring(), Demand.NOTHING, 0.5, Action.REPLACE_CA, id="all is due, 0.5 h ahead"),
        pytest.param(Keyring(), Demand.NOTHING, 0.6, Action.REFUSE, id="all is due, 0.6 h ahead"),
        pytest.param(Keyring(), Demand.NOTHING, -0.6, Action.REFUSE, id="all is due, 0.6 h behind"),
        pytest.param(a_keyring(), Demand.SERVING, 2, Action.REFUSE, id="a certificate is wanted, 2 h ahead"),
        pytest.param(a_keyring(), Demand.CA, 2, Action.REFUSE, id="a CA is wanted, 2 h ahead"),
        pytest.param(a_keyring(), Demand.NOTHING, 6000, Action.KEEP, id="nothing is due, 250 days ahead"),
    ],
)
def test_a_wrong_clock_signs_nothing(keyring: Keyring, demand: Demand, hours: float, action: Action) -> None:
    """A machine that disagrees with the API server about the time dates nothing, and does not wait to."""
    for seconds in (60, 9):
        trust, skew = published(ACTIVE, seconds=seconds), timedelta(hours=hours)
        plan = plan_rotation(keyring, trust, names=NAMES, now=NOW, demand=demand, skew=skew)

        assert action == plan.action


class TestActions:
    """The certificates that each action makes."""

    def test_from_nothing(self) -> None:
        """A CA, and at once a serving certificate of it, for there is nothing better."""
        done = rotate(Keyring(), published(), names=NAMES, now=NOW)

        assert ([Action.REPLACE_CA, Action.ISSUE], Action.KEEP) == (
            [plan.action for plan in done.done],
            done.plan.action,
        )
        assert serving_problem(done.keyring.serving, NAMES, NOW) == ""
        assert done.keyring.ca is not None
        assert (done.keyring.ca.certificate,) == done.keyring.trusted

    def test_a_demand_is_fulfilled_once(self) -> None:
        """A new CA waits until it is trusted; where no webhook calls, it signs at once."""
        waiting = rotate(a_keyring(), TRUSTED, names=NAMES, now=NOW, demand=Demand.CA)
        alone = rotate(a_keyring(), Trust(), names=NAMES, now=NOW, demand=Demand.CA)

        assert (Demand.NOTHING, Action.WAIT) == (waiting.demand, waiting.plan.action)
        assert SERVING == waiting.keyring.serving
        assert [Action.REPLACE_CA, Action.ISSUE] == [plan.action for plan in alone.done]

    def test_a_new_ca(self) -> None:
        """The CA that signed what is served stays trusted; any other does not."""
        first = replace_ca(a_keyring(retired=[OLD]), TRUSTED, now=NOW)
        again = replace_ca(first, TRUSTED, now=NOW)

        assert (ACTIVE.certificate,) == first.retired() == again.retired()
        assert first.ca != again.ca
        assert SERVING == again.serving

    @pytest.mark.parametrize("ca", [None, ENDED], ids=["its key is lost", "it ended"])
    def test_a_new_ca_where_the_old_one_cannot_sign(self, ca: KeyPair | None) -> None:
        """All that anyone may serve stays trusted, unless it has expired."""
        keyring = Keyring(ca=ca, trusted=(ENDED.certificate, ACTIVE.certificate))

        retired = replace_ca(keyring, published(OLD, ENDED), now=NOW).retired()
        assert {ACTIVE.certificate, OLD.certificate} == set(retired)

    def test_issue(self) -> None:
        """The new certificate is of the CA that signs; without one there is none."""
        keyring = issue_serving(a_keyring(a_serving(OLD), retired=[OLD]), NAMES, now=NOW)

        assert keyring.serving is not None
        assert ACTIVE.certificate == signer_of(keyring.serving, keyring.trusted)
        with pytest.raises(CertificateError, match="it is lost"):
            issue_serving(Keyring(problems=("it is lost",)), NAMES, now=NOW)


class TestTrust:
    """Since when everyone trusts a CA."""

    def test_since_the_last_change(self) -> None:
        """A CA counts from when the last webhook has it, and anew when one has lost it."""
        one, both = frozenset({OLD.certificate}), frozenset({OLD.certificate, ACTIVE.certificate})
        seen = Trust().observe([both, one], NOW).observe([both, both], NOW + SECOND)
        later = seen.observe([both, both], NOW + 20 * SECOND)
        lost = later.observe([both, one], NOW + 21 * SECOND).observe([both, both], NOW + 22 * SECOND)

        assert later.settled(ACTIVE.certificate, NOW + 11 * SECOND)
        assert not later.settled(ACTIVE.certificate, NOW + 10 * SECOND)
        assert not lost.settled(ACTIVE.certificate, NOW + 31 * SECOND)

    def test_a_clock_that_was_set_back(self) -> None:
        """A bundle observed by a clock 130 days ahead counts from the moment when the clock is right."""
        bundle = [frozenset({ACTIVE.certificate})]
        seen = Trust().observe(bundle, NOW + AHEAD).observe(bundle, NOW)

        assert seen.settled(ACTIVE.certificate, NOW + 10 * SECOND)

    def test_trusts(self) -> None:
        """A certificate is trusted if every webhook trusts it; without webhooks none distrusts it."""
        assert TRUSTED.trusts(SERVING)
        assert not TRUSTED.trusts(a_serving(OLD))
        assert not TRUSTED.observe([*TRUSTED.bundles, frozenset()], NOW).trusts(SERVING)
        assert Trust().trusts(SERVING)


@pytest.mark.parametrize(
    ("served", "offered", "trust", "expected"),
    [
        pytest.param(None, SERVING, published(), True, id="0 served"),
        pytest.param(SERVING, SERVING, TRUSTED, False, id="the same"),
        pytest.param(SERVING, None, TRUSTED, False, id="0 offered"),
        pytest.param(SERVING, a_serving(ACTIVE, age=-AHEAD), TRUSTED, False, id="not valid yet"),
        pytest.param(None, a_serving(ACTIVE, left=-1), TRUSTED, False, id="expired"),
        pytest.param(SERVING, a_serving(ACTIVE, left=61), TRUSTED, True, id="a trusted one"),
        pytest.param(
            SERVING, a_serving(ACTIVE, left=61), published(ACTIVE, seconds=9), False, id="trusted for 9 s"
        ),
        pytest.param(
            a_serving(OLD), SERVING, published(ACTIVE, seconds=9), True, id="for 9 s, and the other is not"
        ),
        pytest.param(SERVING, a_serving(OLD), TRUSTED, False, id="of a CA that the Secret does not trust"),
        pytest.param(a_serving(ACTIVE, left=-1), SERVING, published(), True, id="any but one that ended"),
    ],
)  # fmt: skip
def test_what_a_replica_serves(
    served: KeyPair | None,
    offered: KeyPair | None,
    trust: Trust,
    expected: bool,  # noqa: FBT001  # of the table
) -> None:
    """A certificate is served if it is trusted for long enough, or if what is served is no good."""
    assert expected is is_better(a_keyring(offered), served, trust, names=NAMES, now=NOW)


@dataclass
class World:
    """Replicas, a Secret and two webhook configurations, with a clock that jumps."""

    choices: random.Random
    now: datetime = NOW
    secret: dict[str, bytes] = field(default_factory=dict)
    bundles: list[frozenset[x509.Certificate]] = field(default_factory=lambda: [frozenset(), frozenset()])
    served: list[KeyPair | None] = field(default_factory=lambda: [None, None, None])
    memories: list[Trust] = field(default_factory=lambda: [Trust()] * 3)
    done: list[Action] = field(default_factory=list)

    def look(self, replica: int, *, leads: bool, crash_after: int) -> None:
        """Let a replica look and, while it leads, write; it dies after so many writes."""
        self.memories[replica] = memory = self.memories[replica].observe(self.bundles, self.now)
        keyring, writes = parse_keyring(self.secret, "Secret"), 0
        if leads:
            rotation = rotate(keyring, memory, names=NAMES, now=self.now)
            keyring, actions = rotation.keyring, [plan.action for plan in rotation.done]
            if actions:
                self.secret, writes = keyring.data(), 1
                self.done += actions
            for position in range(2):
                bundle = frozenset(keyring.bundle(self.now))
                if writes < crash_after and self.bundles[position] != bundle:
                    self.bundles[position] = bundle
                    writes += 1
        if writes >= crash_after:
            self.memories[replica] = Trust()
        elif is_better(keyring, self.served[replica], memory, names=NAMES, now=self.now):
            self.served[replica] = keyring.serving

    def distrusted(self) -> list[str]:
        """Return which replicas serve what a configuration does not trust."""
        truth = Trust(bundles=tuple(self.bundles))
        return [
            f"replica {number} at {self.now}"
            for number, pair in enumerate(self.served)
            if pair and not (truth.trusts(pair) and not serving_problem(pair, NAMES, self.now))
        ]


@settings(max_examples=3)
@given(seed=st.integers(0, 2**32))
def test_years_with_crashes(seed: int) -> None:
    """At every moment each replica serves what leads to the bundle of each configuration.

    Leaders die after any write, others take over, replicas start anew, for a while Secrets are deleted or
    spoiled, and there are up to 110 days of quiet; only the bootstrap is left out.
    """
    world = World(random.Random(seed))
    for replica in (0, 1, 2, 0):
        world.look(replica, leads=True, crash_after=9)
    untrusted = world.distrusted()
    for turn in range(32):
        leader = world.choices.randrange(3)
        if turn < 6 and world.choices.random() < 0.5:
            spoiled = [{}, {"ca.key": b"x"}, {"tls.key": b""}, {"ca.crt": b"y"}]
            world.secret = world.choices.choice(
                [{**world.secret, **part} if part else {} for part in spoiled]
            )
        for pause_s, calm in ((1, False), (12, False), (70, False), (5, True), (12, True), (12, True)):
            world.now += pause_s * SECOND
            for replica in range(3):
                # After a Secret was lost, a replica that starts has nothing better than an untrusted one.
                if turn > 6 and world.choices.random() < 0.2:
                    world.served[replica] = None
                crash_after = 9 if calm else world.choices.choice([1, 2, 3, 9])
                world.look(replica, leads=replica == leader, crash_after=crash_after)
                untrusted += world.distrusted()
        world.now += world.choices.randrange(80, 110) * DAY
        untrusted += world.distrusted()

    assert untrusted == []
    assert world.done.count(Action.REPLACE_CA) >= 2
    assert world.done.count(Action.ISSUE) >= 5
