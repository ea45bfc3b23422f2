"""The plan of a rotation as a table, its steps, and years of it with crashes at any moment."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.ca import create_ca
from certs.issue import issue
from certs.keypair import KeyPair
from certs.keyring import Keyring, keyring_data, parse_keyring
from certs.names import Service, parse_names
from certs.rotate import (
    Demand,
    Lifetimes,
    Publication,
    Step,
    carry_out,
    plan_rotation,
    serving_problem,
    signer_of,
)
from tests.certs.builders import DAY, NOW

NAMES = parse_names(service=Service(name="evenkeel", namespace="evenkeel"))
SECOND = timedelta(seconds=1)
LONG_AGO = NOW - DAY
#: A tenth of the real ones.
LIFETIMES = Lifetimes(authority=300 * DAY, leaf=90 * DAY)


def an_authority(*, left: int, of: int = 300) -> KeyPair:
    """Return an authority with so many of its days left."""
    return create_ca(NOW - (of - left) * DAY, lifetime=of * DAY)


def a_leaf(authority: KeyPair, *, left: int = 60, of: int = 90, age: timedelta | None = None) -> KeyPair:
    """Return a serving pair with so many of its days left, or of an age."""
    issued = NOW - ((of - left) * DAY if age is None else age)
    return issue(authority, NAMES, now=issued, lifetime=of * DAY)


ACTIVE, STANDBY, OLD = an_authority(left=140), an_authority(left=250), an_authority(left=60)
ENDING, ENDED = an_authority(left=99), an_authority(left=-1)
LEAF = a_leaf(ACTIVE)
#: What a leader made whose clock is 130 days ahead.
AHEAD = 130 * DAY
FUTURE = create_ca(NOW + AHEAD, lifetime=300 * DAY)


def a_keyring(
    serving: KeyPair | None = LEAF,
    active: KeyPair | None = ACTIVE,
    standby: KeyPair | None = STANDBY,
    retired: Iterable[KeyPair] = (),
) -> Keyring:
    """Return a keyring, by default one of which nothing is due."""
    pairs = [pair for pair in (active, standby, *retired) if pair]
    trusted = tuple(pair.certificate() for pair in pairs)
    return Keyring(serving=serving, active=active, standby=standby, trusted=trusted)


def published(*authorities: KeyPair, seconds: float = 60, webhooks: int = 2) -> Publication:
    """Return that all webhooks have trusted some authorities for so long."""
    bundle = frozenset(authority.certificate() for authority in authorities)
    since = NOW - timedelta(seconds=seconds)
    return Publication().observe([bundle] * webhooks, since)


BOTH = published(ACTIVE, STANDBY)


@pytest.mark.parametrize(
    ("keyring", "publication", "step"),
    [
        pytest.param(a_keyring(), BOTH, Step.KEEP, id="leaf 60 of 90 days, authority 140 of 300: nothing"),
        pytest.param(Keyring(), BOTH, Step.MAKE, id="0 keys: everything"),
        pytest.param(a_keyring(active=None, standby=None), BOTH, Step.MAKE, id="a leaf and 0 authorities"),
        pytest.param(a_keyring(active=ENDED, standby=None), BOTH, Step.MAKE, id="1 authority that ended"),
        pytest.param(a_keyring(active=None), BOTH, Step.TRUST, id="0 active, and 1 that webhooks know"),
        pytest.param(
            a_keyring(active=None, retired=[ACTIVE]), BOTH, Step.SWITCH, id="active key lost, 60 s published"
        ),
        pytest.param(
            a_keyring(active=None, retired=[ACTIVE]), published(ACTIVE), Step.WAIT,
            id="the active key lost, standby not published: the leaf is good still",
        ),
        pytest.param(
            a_keyring(serving=None, active=None, retired=[ACTIVE]), published(ACTIVE), Step.SWITCH,
            id="the active key lost and 0 leaves: better than nothing",
        ),
        pytest.param(a_keyring(standby=None), published(ACTIVE), Step.ADD_STANDBY, id="0 standbys"),
        pytest.param(
            a_keyring(active=STANDBY, standby=ACTIVE), BOTH, Step.ADD_STANDBY, id="standby 110 days earlier"
        ),
        pytest.param(
            a_keyring(standby=an_authority(left=149)), published(ACTIVE, STANDBY), Step.TRUST,
            id="1 authority that only the webhooks know",
        ),
        pytest.param(
            a_keyring(standby=an_authority(left=149)), published(ACTIVE), Step.ADD_STANDBY,
            id="standby 149 of 300 days: a later one",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING), active=ENDING), published(ENDING, STANDBY), Step.SWITCH,
            id="active 99 of 300 days",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING), active=ENDING), published(ENDING), Step.WAIT,
            id="active 99 of 300 days, standby not published",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING), active=ENDING), published(ENDING, STANDBY, seconds=9),
            Step.WAIT,
            id="active 99 of 300 days, standby published for 9 s",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING), active=ENDING), Publication(), Step.SWITCH,
            id="active 99 of 300 days, 0 webhooks",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING, age=59 * SECOND), active=ENDING, retired=[OLD]),
            published(ENDING, STANDBY, OLD), Step.WAIT,
            id="a leaf of 59 s and 1 retired: replicas may serve what that has signed",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ENDING, age=61 * SECOND), active=ENDING, retired=[OLD]),
            published(ENDING, STANDBY, OLD), Step.SWITCH,
            id="a leaf of 61 s and 1 retired",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(OLD), active=ENDING, retired=[OLD]),
            published(ENDING, STANDBY, OLD), Step.ISSUE,
            id="a leaf of the retired one: first another leaf",
        ),
        pytest.param(a_keyring(serving=a_leaf(ACTIVE, left=29)), BOTH, Step.ISSUE, id="leaf 29 of 90 days"),
        pytest.param(a_keyring(serving=a_leaf(ACTIVE, left=31)), BOTH, Step.KEEP, id="leaf 31 of 90 days"),
        pytest.param(
            a_keyring(serving=a_leaf(ACTIVE, left=29)), published(STANDBY), Step.WAIT,
            id="leaf 29 of 90 days, active not published",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ACTIVE, left=-1)), published(STANDBY), Step.ISSUE,
            id="leaf ended 1 day ago, active not published: better than nothing",
        ),
        pytest.param(a_keyring(serving=None), published(), Step.ISSUE, id="0 leaves"),
        pytest.param(
            a_keyring(serving=issue(ACTIVE, parse_names(["evenkeel"]), now=NOW)), BOTH, Step.ISSUE,
            id="a leaf with 1 of 4 names",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(STANDBY)), BOTH, Step.ISSUE, id="a leaf of the standby"
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ACTIVE, age=-AHEAD)), BOTH, Step.ISSUE, id="a leaf of 130 days ahead"
        ),
        pytest.param(
            a_keyring(standby=FUTURE), published(ACTIVE, FUTURE), Step.ADD_STANDBY,
            id="a standby of 130 days ahead",
        ),
        pytest.param(
            a_keyring(active=FUTURE, standby=STANDBY, retired=[ACTIVE]), published(ACTIVE, STANDBY, FUTURE),
            Step.SWITCH,
            id="an active authority of 130 days ahead, 1 standby that is published",
        ),
        pytest.param(
            a_keyring(serving=a_leaf(ACTIVE, age=-AHEAD), active=FUTURE, standby=FUTURE), published(FUTURE),
            Step.MAKE,
            id="all of 130 days ahead",
        ),
    ],
)  # fmt: skip
def test_plan(keyring: Keyring, publication: Publication, step: Step) -> None:
    """What is due is done as soon as nobody can meet what he does not trust."""
    plan = plan_rotation(keyring, publication, names=NAMES, now=NOW, lifetimes=LIFETIMES)

    assert step == plan.step
    assert bool(plan.reason) == (step is not Step.KEEP)


@pytest.mark.parametrize(
    ("demand", "publication", "step"),
    [
        pytest.param(Demand.LEAF, BOTH, Step.ISSUE, id="a leaf, 60 s published"),
        pytest.param(Demand.LEAF, published(ACTIVE, seconds=9), Step.WAIT, id="a leaf, 9 s published"),
        pytest.param(Demand.AUTHORITY, BOTH, Step.SWITCH, id="an authority, 60 s published"),
        pytest.param(
            Demand.AUTHORITY, published(ACTIVE), Step.WAIT, id="an authority, standby not published"
        ),
        pytest.param(Demand.NOTHING, BOTH, Step.KEEP, id="nothing"),
    ],
)
def test_demands(demand: Demand, publication: Publication, step: Step) -> None:
    """What a person asks for keeps the same order."""
    assert step == plan_rotation(
        a_keyring(), publication, names=NAMES, now=NOW, lifetimes=LIFETIMES, demand=demand
    ).step  # fmt: skip


@pytest.mark.parametrize(
    ("keyring", "demand", "skew", "step"),
    [
        pytest.param(Keyring(), Demand.NOTHING, 0.5, Step.MAKE, id="all is due, 0.5 h ahead"),
        pytest.param(Keyring(), Demand.NOTHING, 0.6, Step.REFUSE, id="all is due, 0.6 h ahead"),
        pytest.param(Keyring(), Demand.NOTHING, -0.6, Step.REFUSE, id="all is due, 0.6 h behind"),
        pytest.param(a_keyring(), Demand.LEAF, 2, Step.REFUSE, id="a leaf is asked for, 2 h ahead"),
        pytest.param(a_keyring(), Demand.AUTHORITY, 2, Step.REFUSE, id="an authority asked for, 2 h ahead"),
        pytest.param(a_keyring(), Demand.NOTHING, 6000, Step.KEEP, id="nothing is due, 250 days ahead"),
    ],
)  # fmt: skip
def test_a_wrong_clock_signs_nothing(keyring: Keyring, demand: Demand, skew: float, step: Step) -> None:
    """Whoever disagrees with the API server about the time dates nothing."""
    plan = plan_rotation(
        keyring, BOTH, names=NAMES, now=NOW, lifetimes=LIFETIMES, demand=demand, skew=timedelta(hours=skew)
    )

    assert step == plan.step


def test_a_wrong_clock_does_not_wait() -> None:
    """What would have to be refused in the end is refused at once."""
    short = published(ACTIVE, STANDBY, seconds=9)
    plans = [
        plan_rotation(
            a_keyring(), short, names=NAMES, now=NOW, lifetimes=LIFETIMES, demand=Demand.LEAF, skew=skew
        ).step
        for skew in (timedelta(0), timedelta(hours=2))
    ]

    assert [Step.WAIT, Step.REFUSE] == plans


def done(step: Step, keyring: Keyring, publication: Publication = BOTH) -> Keyring:
    """Return a keyring after a step."""
    return carry_out(step, keyring, publication, names=NAMES, now=NOW, lifetimes=LIFETIMES)


class TestSteps:
    """What each step makes."""

    def test_make(self) -> None:
        """Two authorities, the first for half as long, and a good leaf."""
        made = done(Step.MAKE, Keyring(), Publication())

        assert made.active is not None
        assert made.standby is not None
        assert (150, 300) == ((made.active.not_after - NOW).days, (made.standby.not_after - NOW).days)
        assert serving_problem(made.serving, NAMES, NOW) == ""
        assert made.serving is not None
        assert signer_of(made.serving, made.trusted) == made.active.certificate()

    def test_make_keeps_what_is_trusted(self) -> None:
        """A leaf that everybody trusts stays, and so does trust in who signed it."""
        made = done(Step.MAKE, Keyring(serving=LEAF, problems=("lost",)), BOTH)

        assert LEAF == made.serving
        assert {ACTIVE.certificate(), STANDBY.certificate()} < set(made.trusted)
        assert made.problems == ()

    def test_make_drops_a_stranger(self) -> None:
        """A leaf that nobody trusts goes."""
        assert done(Step.MAKE, Keyring(serving=a_leaf(OLD)), BOTH).serving != a_leaf(OLD)

    def test_trust(self) -> None:
        """What webhooks trust besides joins, and the rest stays as it was."""
        keyring = a_keyring()
        joined = done(Step.TRUST, keyring, published(ACTIVE, OLD, ENDED))

        assert (*keyring.trusted, OLD.certificate()) == joined.trusted
        assert replace(joined, trusted=keyring.trusted) == keyring

    def test_add_standby(self) -> None:
        """The one before, which has signed nothing, must not come back."""
        changed = done(Step.ADD_STANDBY, a_keyring(retired=[OLD]))

        assert changed.standby is not None
        assert (ACTIVE.certificate(), changed.standby.certificate(), OLD.certificate()) == changed.trusted
        assert (STANDBY.certificate(),) == changed.distrusted
        assert changed.serving == LEAF

    def test_switch(self) -> None:
        """The standby signs, the active one retires, and who had retired must not come back."""
        changed = done(Step.SWITCH, a_keyring(retired=[OLD]))

        assert STANDBY == changed.active
        assert (ACTIVE.certificate(),) == changed.retired()
        assert (OLD.certificate(),) == changed.distrusted
        assert changed.serving is not None
        assert signer_of(changed.serving, changed.trusted) == STANDBY.certificate()

    def test_switch_without_the_old_key(self) -> None:
        """Where the active authority is broken, replicas still serve what it signed."""
        changed = done(Step.SWITCH, a_keyring(active=None, retired=[ACTIVE, OLD]))

        assert (ACTIVE.certificate(), OLD.certificate()) == changed.retired()

    @pytest.mark.parametrize("step", [Step.KEEP, Step.WAIT])
    def test_nothing(self, step: Step) -> None:
        """Nothing to do changes nothing."""
        assert a_keyring() == done(step, a_keyring())

    def test_what_was_dropped_is_no_other(self) -> None:
        """An authority that was taken out is not taken in again where a webhook still has it."""
        changed = done(Step.SWITCH, a_keyring(retired=[OLD]))

        assert published(ACTIVE, STANDBY, OLD).others(changed, NOW) == ()


class TestPublication:
    """Since when everybody trusts whom."""

    def test_since_the_last_webhook(self) -> None:
        """An authority counts from when the last webhook has it, and anew when one has lost it."""
        one, both = (
            frozenset({ACTIVE.certificate()}),
            frozenset({ACTIVE.certificate(), STANDBY.certificate()}),
        )
        seen = Publication().observe([both, one], NOW).observe([both, both], NOW + SECOND)
        later = seen.observe([both, both], NOW + 20 * SECOND)
        lost = later.observe([both, one], NOW + 21 * SECOND).observe([both, both], NOW + 22 * SECOND)

        assert later.settled(STANDBY.certificate(), NOW + 11 * SECOND, LIFETIMES.settle)
        assert not later.settled(STANDBY.certificate(), NOW + 10 * SECOND, LIFETIMES.settle)
        assert not lost.settled(STANDBY.certificate(), NOW + 31 * SECOND, LIFETIMES.settle)
        assert lost.settled(ACTIVE.certificate(), NOW + 31 * SECOND, LIFETIMES.settle)

    def test_a_clock_that_was_set_back(self) -> None:
        """What was seen by a clock 130 days ahead counts from the moment when the clock is right."""
        bundle = [frozenset({ACTIVE.certificate()})]
        seen = Publication().observe(bundle, NOW + AHEAD).observe(bundle, NOW)

        assert seen.settled(ACTIVE.certificate(), NOW + 10 * SECOND, LIFETIMES.settle)

    def test_trusts(self) -> None:
        """A certificate is trusted if every webhook does; without webhooks nobody distrusts it."""
        assert BOTH.trusts(LEAF)
        assert not BOTH.trusts(a_leaf(OLD))
        assert not BOTH.observe([*BOTH.bundles, frozenset()], NOW).trusts(LEAF)
        assert Publication().trusts(LEAF)


@dataclass
class World:
    """Replicas, a Secret and two webhook configurations, with a clock that jumps."""

    choices: random.Random
    now: datetime = NOW
    secret: dict[str, bytes] = field(default_factory=dict)
    bundles: list[frozenset[object]] = field(default_factory=lambda: [frozenset(), frozenset()])
    served: list[KeyPair | None] = field(default_factory=lambda: [None, None, None])
    memories: list[Publication] = field(default_factory=lambda: [Publication()] * 3)
    parsed: tuple[dict[str, bytes], Keyring] | None = None
    switches: int = 0
    leaves: int = 0

    def look(self, replica: int, *, leads: bool, crash_after: int) -> None:
        """Let a replica look and, while it leads, write; it dies after so many writes."""
        self.memories[replica] = memory = self.memories[replica].observe(self.bundles, self.now)  # type: ignore[arg-type]
        keyring = self.read()
        writes = 0
        while leads and writes < crash_after:
            plan = plan_rotation(keyring, memory, names=NAMES, now=self.now, lifetimes=LIFETIMES)
            if plan.step in {Step.KEEP, Step.WAIT}:
                break
            if plan.step is Step.MAKE and keyring.serving is None:
                keyring = replace(keyring, serving=self.served[replica])
            keyring = carry_out(plan.step, keyring, memory, names=NAMES, now=self.now, lifetimes=LIFETIMES)
            self.secret = keyring_data(keyring)
            self.switches += plan.step is Step.SWITCH
            self.leaves += plan.step is Step.ISSUE
            writes += 1
        for position in range(2):
            if leads and writes < crash_after and self.bundles[position] != set(keyring.bundle(self.now)):
                self.bundles[position] = frozenset(keyring.bundle(self.now))
                writes += 1
        if writes >= crash_after:
            self.memories[replica] = Publication()
            return
        self.adopt(replica, keyring, memory)

    def read(self) -> Keyring:
        """Return what the Secret holds, parsed once for each content."""
        if self.parsed is None or self.parsed[0] is not self.secret:
            self.parsed = self.secret, parse_keyring(self.secret, "Secret")
        return self.parsed[1]

    def adopt(self, replica: int, keyring: Keyring, memory: Publication) -> None:
        """Serve what is offered if it is trusted for long enough, as the keeper does."""
        offered, served = keyring.serving, self.served[replica]
        if offered is None or serving_problem(offered, NAMES, self.now):
            return
        signer = signer_of(offered, keyring.trusted)
        settled = signer is not None and memory.settled(signer, self.now, LIFETIMES.settle)
        if served is None or serving_problem(served, NAMES, self.now) or not memory.trusts(served) or settled:
            self.served[replica] = offered

    def distrusted(self) -> list[str]:
        """Return which replicas serve what a configuration does not trust."""
        truth = Publication(bundles=tuple(self.bundles))  # type: ignore[arg-type]
        return [
            f"replica {number} at {self.now}"
            for number, pair in enumerate(self.served)
            if pair is not None and not (truth.trusts(pair) and not serving_problem(pair, NAMES, self.now))
        ]


@settings(max_examples=3)
@given(seed=st.integers(0, 2**32))
def test_years_with_crashes(seed: int) -> None:
    """At every moment each replica serves what leads to the bundle of each configuration.

    Leaders die after any write, others take over, for a while Secrets are deleted or spoiled, and there are
    up to 24 days of quiet; only the bootstrap is left out, in which nobody is trusted yet.
    """
    world = World(random.Random(seed))
    for replica in (0, 1, 2, 0):
        world.look(replica, leads=True, crash_after=9)
    untrusted = world.distrusted()
    for turn in range(16):
        leader = world.choices.randrange(3)
        if turn < 6 and world.choices.random() < 0.5:
            world.secret = world.choices.choice(
                [{}, {**world.secret, "ca.key": b"x"}, {**world.secret, "tls.key": b"", "standby.key": b"y"}]
            )
        for pause_s, calm in ((1, False), (12, False), (70, False), (5, True), (12, True)):
            world.now += pause_s * SECOND
            for replica in range(3):
                crash_after = 9 if calm else world.choices.choice([1, 2, 3, 9])
                world.look(replica, leads=replica == leader, crash_after=crash_after)
                untrusted += world.distrusted()
        world.now += world.choices.randrange(12, 25) * DAY
        untrusted += world.distrusted()

    assert untrusted == []
    assert world.switches >= 1
    assert world.leaves >= 1
