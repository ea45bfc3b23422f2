"""Decide what becomes of the certificates that replicas share, and make it. Pure but for new keys.

Clients (API servers) must at no moment meet a serving certificate that they do not trust yet, or no more.
So there are always two authorities, and trust in one is published long before it signs:

- The *active* authority signs the serving certificate. The *standby* has a later end and signs nothing, but
  is in the bundle to trust from its first day on.
- When the active one has a third of its life left, the standby becomes active and signs a new serving
  certificate, and a new standby is made. The old active one stays trusted until the next such switch, for a
  replica may still serve what it signed.
- What is signed by an authority is given out only when that authority has been in every webhook
  configuration for a few seconds (``Lifetimes.settle``), the time in which all API servers hear of a change.
- What else is found in the webhook configurations and has not expired stays trusted until the next switch:
  somebody may still serve what it signed.

The first active authority lives half as long as a standby, so that a switch comes every third of a life.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509

from certs.ca import CA_LIFETIME, check_ca, create_ca
from certs.clocks import BACKDATE, clock_problem
from certs.errors import CertificateError
from certs.inspect import leads_to
from certs.issue import SERVING_LIFETIME, issue
from certs.keypair import KeyPair
from certs.keyring import Keyring, still_valid
from certs.names import SubjectNames

#: How much of its life a certificate has left when it is renewed: a third, as cert-manager and kubelet do.
RENEW_AT = 1 / 3
#: How much of its life a standby has left when another takes its place: a later one shall follow an active
#: authority that lives long. Arbitrary, above ``RENEW_AT``.
STALE_STANDBY_AT = 1 / 2


class Step(StrEnum):
    """The next thing to do."""

    #: Nothing.
    KEEP = "keep"
    #: Something is due and must wait until others have followed.
    WAIT = "wait"
    #: Something is due and must not be done by this machine.
    REFUSE = "refuse"
    #: Both authorities and a serving certificate: there is none that could sign.
    MAKE = "make"
    #: Trust what the webhook configurations trust besides.
    TRUST = "trust"
    #: A new standby.
    ADD_STANDBY = "add-standby"
    #: The standby becomes active and signs a new serving certificate.
    SWITCH = "switch"
    #: A new serving certificate.
    ISSUE = "issue"


#: The steps that sign something, which a wrong clock would date wrongly, or wait to.
_SIGNING = frozenset({Step.MAKE, Step.ADD_STANDBY, Step.SWITCH, Step.ISSUE, Step.WAIT})


class Demand(StrEnum):
    """What a person asks for, whether it is due or not."""

    NOTHING = "nothing"
    LEAF = "leaf"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do next and why, as half a sentence."""

    step: Step
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things last.

    Attributes:
        authority: A standby's, from when it is made.
        leaf: A serving certificate's.
        settle: How long an authority is published before it signs. Arbitrary; API servers watch webhook
            configurations and hear of a change within a second or two.
        adopt: How long replicas have to serve a new certificate before the authority of the one before the
            last is trusted no more. Arbitrary; they look every few seconds and wait ``settle``.
    """

    authority: timedelta = CA_LIFETIME
    leaf: timedelta = SERVING_LIFETIME
    settle: timedelta = timedelta(seconds=10)
    adopt: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Whom the API servers trust.

    Attributes:
        bundles: The authorities that each webhook of each configuration trusts.
        since: When each authority that all of them trust was first seen to be so.
    """

    bundles: tuple[frozenset[x509.Certificate], ...] = ()
    since: Mapping[x509.Certificate, datetime] = field(default_factory=dict)

    def observe(self, bundles: Iterable[frozenset[x509.Certificate]], now: datetime) -> Publication:
        """Return what is known after another look."""
        bundles = tuple(bundles)
        everywhere = frozenset.intersection(*bundles) if bundles else frozenset()
        return Publication(
            bundles=bundles,
            # A clock that was set back must not make anyone wait for the time by which it was ahead.
            since={certificate: min(self.since.get(certificate, now), now) for certificate in everywhere},
        )

    def settled(self, certificate: x509.Certificate, now: datetime, settle: timedelta) -> bool:
        """Tell whether every API server trusts an authority by now; without webhooks nobody calls."""
        if not self.bundles:
            return True
        since = self.since.get(certificate)
        return since is not None and now - since >= settle

    def trusts(self, serving: KeyPair) -> bool:
        """Tell whether every webhook trusts a serving certificate."""
        certificate = serving.certificate()
        return all(leads_to(certificate, tuple(bundle)) for bundle in self.bundles)

    def others(self, keyring: Keyring, now: datetime) -> tuple[x509.Certificate, ...]:
        """Return the authorities that are trusted somewhere and that a keyring does not know."""
        known = {*keyring.trusted, *keyring.distrusted}
        found = still_valid((certificate for bundle in self.bundles for certificate in bundle), now)
        return tuple(sorted(set(found) - known, key=lambda certificate: certificate.serial_number))


def plan_rotation(
    keyring: Keyring,
    publication: Publication,
    *,
    names: SubjectNames,
    now: datetime,
    lifetimes: Lifetimes | None = None,
    demand: Demand = Demand.NOTHING,
    skew: timedelta = timedelta(0),
) -> Plan:
    """Decide the next step. Pure.

    Args:
        keyring: What the Secret holds.
        publication: Whom the API servers trust.
        names: What the serving certificate must be called.
        now: The current time by the clock of whoever verifies certificates, with a time zone.
        lifetimes: How long things last.
        demand: What a person asks for.
        skew: How far the clock of this machine is ahead of that one.
    """
    plan = _next_step(_Case(keyring, publication, names, now, lifetimes or Lifetimes(), demand))
    wrong_clock = clock_problem(skew) if plan.step in _SIGNING else ""
    return Plan(step=Step.REFUSE, reason=wrong_clock) if wrong_clock else plan


def _next_step(case: _Case) -> Plan:
    keyring, publication, now = case.keyring, case.publication, case.now
    active, standby = _usable(keyring.active, now), _usable(keyring.standby, now)
    if active is None and standby is None:
        return Plan(step=Step.MAKE, reason="there is no authority that could sign")
    if publication.others(keyring, now):
        return Plan(step=Step.TRUST, reason="a webhook configuration trusts another authority")
    unfit = _unfit_standby(case, active, standby) if active else ""
    if unfit:
        return Plan(step=Step.ADD_STANDBY, reason=unfit)
    switch = _plan_switch(case, active, standby)
    if active is None or switch.step is Step.SWITCH:
        return switch
    leaf = _plan_leaf(case, active)
    return switch if leaf.step is Step.KEEP else leaf


def carry_out(
    step: Step,
    keyring: Keyring,
    publication: Publication,
    *,
    names: SubjectNames,
    now: datetime,
    lifetimes: Lifetimes | None = None,
) -> Keyring:
    """Return the keyring after a step that ``plan_rotation`` decided; the given one where it changes nothing.

    Raises:
        CAError: An authority cannot sign.
    """
    lifetimes = lifetimes or Lifetimes()
    match step:
        case Step.MAKE:
            return _make(keyring, publication, names, now, lifetimes)
        case Step.TRUST:
            return replace(keyring, trusted=(*keyring.trusted, *publication.others(keyring, now)))
        case Step.ADD_STANDBY:
            return _trusting(
                replace(keyring, standby=create_ca(now, lifetime=lifetimes.authority)),
                still_valid(keyring.retired(), now),
                now,
            )
        case Step.SWITCH:
            return _switch(keyring, names, now, lifetimes)
        case Step.ISSUE:
            assert keyring.active is not None  # noqa: S101  # plan_rotation asked
            return replace(
                keyring, serving=issue(keyring.active, names, now=now, lifetime=lifetimes.leaf), problems=()
            )
        case _:
            return keyring


def serving_problem(serving: KeyPair | None, names: SubjectNames, now: datetime) -> str:
    """Return why a serving certificate serves nobody, as half a sentence; empty when nothing is wrong."""
    if serving is None:
        return "there is no serving certificate"
    if serving.expired(now):
        return f"the serving certificate expired on {serving.not_after:%Y-%m-%d %H:%M} UTC"
    if serving.not_yet_valid(now):
        return f"the serving certificate is not valid before {serving.not_before:%Y-%m-%d %H:%M} UTC"
    wanted = (*names.dns, *map(str, names.addresses))
    missing = [name for name in wanted if name not in serving.names]
    return f"the serving certificate lacks the name {missing[0]}" if missing else ""


def signer_of(serving: KeyPair, authorities: Iterable[x509.Certificate]) -> x509.Certificate | None:
    """Return the authority that signed a serving certificate, or None if it is none of these."""
    certificate = serving.certificate()
    return next((candidate for candidate in authorities if leads_to(certificate, (candidate,))), None)


def _usable(authority: KeyPair | None, now: datetime) -> KeyPair | None:
    if authority is None:
        return None
    try:
        check_ca(authority, now)
    except CertificateError:
        return None
    return authority


def _left(pair: KeyPair, now: datetime) -> float:
    """Return the part of its life that a certificate has left."""
    return (pair.not_after - now) / (pair.not_after - pair.not_before)


@dataclass(frozen=True, slots=True)
class _Case:
    """The arguments of ``plan_rotation``."""

    keyring: Keyring
    publication: Publication
    names: SubjectNames
    now: datetime
    lifetimes: Lifetimes
    demand: Demand

    def settled(self, authority: KeyPair) -> bool:
        return self.publication.settled(authority.certificate(), self.now, self.lifetimes.settle)


def _unfit_standby(case: _Case, active: KeyPair, standby: KeyPair | None) -> str:
    """Return why another standby is needed; empty when it is not."""
    if standby is None:
        return "there is no standby authority"
    if standby.not_after <= active.not_after < case.now + case.lifetimes.authority:
        return "the standby authority ends before the active one"
    if _left(active, case.now) > RENEW_AT and _left(standby, case.now) <= STALE_STANDBY_AT:
        return "the standby authority has half of its life behind it"
    return ""


def _plan_switch(case: _Case, active: KeyPair | None, standby: KeyPair | None) -> Plan:
    if active is None:
        reason = "the active authority cannot sign"
    elif _left(active, case.now) <= RENEW_AT:
        reason = "the active authority has a third of its life left"
    elif case.demand is Demand.AUTHORITY:
        reason = "asked for"
    else:
        return Plan(step=Step.KEEP)
    if active is None and serving_problem(case.keyring.serving, case.names, case.now):
        # Whatever is issued now is better than that, trusted already or not.
        return Plan(step=Step.SWITCH, reason=reason)
    if standby is None or not case.settled(standby):
        return Plan(step=Step.WAIT, reason="until every API server trusts the standby authority")
    if active is not None and _is_retired_in_use(case):
        return Plan(step=Step.WAIT, reason="until every replica serves the newest certificate")
    return Plan(step=Step.SWITCH, reason=reason)


def _is_retired_in_use(case: _Case) -> bool:
    """Tell whether a replica may serve what one signed that the switch would stop trusting."""
    retired, serving = case.keyring.retired(), case.keyring.serving
    if serving is None or not retired:
        return False
    issued = serving.not_before + BACKDATE
    return case.now - issued < case.lifetimes.adopt or signer_of(serving, retired) is not None


def _plan_leaf(case: _Case, active: KeyPair) -> Plan:
    serving = case.keyring.serving
    reason = serving_problem(serving, case.names, case.now)
    if reason or serving is None:
        return Plan(step=Step.ISSUE, reason=reason)
    if _left(serving, case.now) <= RENEW_AT and serving.not_after < active.not_after:
        reason = "the serving certificate has a third of its life left"
    elif signer_of(serving, [active.certificate()]) is None:
        reason = "the serving certificate is not signed by the active authority"
    elif case.demand is Demand.LEAF:
        reason = "asked for"
    else:
        return Plan(step=Step.KEEP)
    if not case.settled(active):
        return Plan(step=Step.WAIT, reason="until every API server trusts the active authority")
    return Plan(step=Step.ISSUE, reason=reason)


def _make(
    keyring: Keyring, publication: Publication, names: SubjectNames, now: datetime, lifetimes: Lifetimes
) -> Keyring:
    """Return new authorities that join whom everybody trusts, and a serving certificate that is trusted."""
    active = create_ca(now, lifetime=lifetimes.authority / 2)
    standby = create_ca(now, lifetime=lifetimes.authority)
    others = still_valid((*keyring.trusted, *publication.others(keyring, now)), now)
    serving = keyring.serving
    kept = (
        serving is not None
        and not serving_problem(serving, names, now)
        and signer_of(serving, others) is not None
    )
    if not kept:
        serving = issue(active, names, now=now, lifetime=lifetimes.leaf)
    made = Keyring(
        serving=serving,
        active=active,
        standby=standby,
        trusted=keyring.trusted,
        distrusted=keyring.distrusted,
    )
    return _trusting(made, others, now)


def _switch(keyring: Keyring, names: SubjectNames, now: datetime, lifetimes: Lifetimes) -> Keyring:
    old, active = _usable(keyring.active, now), keyring.standby
    assert active is not None  # noqa: S101  # plan_rotation asked
    retired = [old.certificate()] if old else keyring.trusted
    switched = replace(
        keyring,
        active=active,
        standby=create_ca(now, lifetime=lifetimes.authority),
        serving=issue(active, names, now=now, lifetime=lifetimes.leaf),
        problems=(),
    )
    return _trusting(switched, still_valid(retired, now), now)


def _trusting(keyring: Keyring, retired: Iterable[x509.Certificate], now: datetime) -> Keyring:
    """Return a keyring that trusts its two authorities and the retired ones, and nobody else any more."""
    signers = tuple(pair.certificate() for pair in (keyring.active, keyring.standby) if pair)
    trusted = tuple(dict.fromkeys((*signers, *retired)))
    dropped = (certificate for certificate in keyring.trusted if certificate not in trusted)
    return replace(
        keyring,
        trusted=trusted,
        distrusted=still_valid((*keyring.distrusted, *dropped), now),
        problems=(),
    )
