"""Decide the next step of a certificate rotation, and take it. Pure but for new keys.

API servers must never meet a serving certificate that they do not trust. So a CA is trusted everywhere before
it signs, and stays trusted while a replica may serve what it signed:

- A serving certificate is renewed with a third of its life left.
- A CA is replaced with a third of its life left, or where it can no longer sign. The new one joins the
  trusted CAs, and the serving certificate stays that of the *retired* CA before.
- When the new CA has been in every webhook configuration for ``SETTLE``, it issues the serving certificate.
- A retired CA stays trusted until the CA is replaced again. Where keys were lost, every CA that a webhook
  configuration trusts stays trusted, for a replica may serve what it signed.
- A serving certificate that no client accepts is replaced at once.

The clients of a folder are known to its user alone, who demands each step (``certs.store``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509

from certs.ca import ca_problem, create_ca, issue
from certs.clocks import BACKDATE, SERVING_LIFETIME, clock_problem
from certs.errors import CertificateError
from certs.inspect import leads_to, signer_of
from certs.keypair import KeyPair
from certs.keyring import Keyring, still_valid
from certs.names import SubjectNames

#: How long webhook configurations must have been as they are before a CA in them counts as trusted. API
#: servers watch them and hear of a change within a second or two.
SETTLE = timedelta(seconds=10)
#: How long replicas have to serve a new certificate before the CA of an earlier one is dropped. They look
#: every few seconds, and wait for ``SETTLE``.
ADOPT = timedelta(seconds=60)


class Action(StrEnum):
    """The next thing to do."""

    #: Nothing.
    KEEP = "keep"
    #: Something is due and must wait until others have followed.
    WAIT = "wait"
    #: Something is due and must not be done by this machine: its clock is wrong.
    REFUSE = "refuse"
    #: Create a CA, which is trusted from now on and signs later.
    REPLACE_CA = "replace-ca"
    #: Issue a serving certificate.
    ISSUE = "issue"


class Demand(StrEnum):
    """The certificates that a user wants replaced before they are due."""

    NOTHING = "nothing"
    SERVING = "serving"
    CA = "ca"


#: The action that gives what is demanded.
_FULFILLING = {Demand.SERVING: Action.ISSUE, Demand.CA: Action.REPLACE_CA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The next action, and its reason, as half a sentence."""

    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """The outcome of a rotation."""

    keyring: Keyring  #: What the Secret must hold now.
    done: tuple[Plan, ...]  #: What was done.
    plan: Plan  #: Why no more was done: to wait, that this machine must not, or that nothing more is due.
    demand: Demand  #: What is still demanded.


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Which CAs the webhook configurations trust, and since when they have been as they are."""

    #: The certificates that each webhook of each configuration trusts.
    bundles: tuple[frozenset[x509.Certificate], ...] = ()
    since: datetime | None = None  #: When the bundles were first seen so, UTC; None before the first look.

    def observe(self, bundles: Iterable[frozenset[x509.Certificate]], now: datetime) -> Trust:
        """Return the trust after another look."""
        bundles = tuple(bundles)
        # A clock that was set back must not add the time by which it was ahead.
        return Trust(bundles=bundles, since=min(self.since or now, now) if bundles == self.bundles else now)

    def settled(self, ca: x509.Certificate, now: datetime) -> bool:
        """Return whether every API server trusts a CA by now; without webhooks there is none that calls."""
        return not self.bundles or (
            all(ca in bundle for bundle in self.bundles) and now - (self.since or now) >= SETTLE
        )

    def trusts(self, serving: KeyPair) -> bool:
        """Return whether every webhook trusts a serving certificate."""
        return all(leads_to(serving.certificate, bundle) for bundle in self.bundles)


def plan_rotation(
    keyring: Keyring,
    trust: Trust,
    *,
    names: SubjectNames,
    now: datetime,
    demand: Demand = Demand.NOTHING,
    skew: timedelta = timedelta(0),
) -> Plan:
    """Decide the next action. Pure.

    Args:
        keyring: What the Secret holds.
        trust: Which CAs the webhook configurations trust.
        names: The names that the serving certificate must have.
        now: The current time by the clock of the API server, with a time zone.
        demand: What a person wants replaced.
        skew: How far the clock of this machine, which dates what it signs, is ahead of that one.
    """
    plan = _plan_ca(keyring, now, demand)
    if plan.action is not Action.REPLACE_CA:
        # What is due to the serving certificate does not wait for what is due to the CA.
        serving = _plan_serving(keyring, trust, names, now, demand)
        plan = plan if serving.action is Action.KEEP else serving
    if plan.action is not Action.KEEP and (wrong_clock := clock_problem(skew)):
        return Plan(action=Action.REFUSE, reason=wrong_clock)
    return plan


def rotate(
    keyring: Keyring,
    trust: Trust,
    *,
    names: SubjectNames,
    now: datetime,
    demand: Demand = Demand.NOTHING,
    skew: timedelta = timedelta(0),
) -> Rotation:
    """Do whatever is due, with the arguments of ``plan_rotation``."""
    done: list[Plan] = []
    while True:
        plan = plan_rotation(keyring, trust, names=names, now=now, demand=demand, skew=skew)
        if plan.action is Action.REPLACE_CA:
            keyring = replace_ca(keyring, trust, now=now)
        elif plan.action is Action.ISSUE:
            keyring = issue_serving(keyring, names, now=now)
        else:
            return Rotation(keyring=keyring, done=tuple(done), plan=plan, demand=demand)
        done.append(plan)
        if plan.action is _FULFILLING.get(demand):
            demand = Demand.NOTHING


def replace_ca(keyring: Keyring, trust: Trust, *, now: datetime) -> Keyring:
    """Return a keyring with a new CA that is trusted besides those that may have signed what is served."""
    ca, retired = create_ca(now), keyring.trusted
    if keyring.ca is None or ca_problem(keyring.ca, now):
        retired = (*retired, *(one for bundle in trust.bundles for one in bundle))
    elif keyring.serving and (signer := signer_of(keyring.serving, keyring.trusted)):
        retired = (signer,)
    return Keyring(serving=keyring.serving, ca=ca, trusted=(ca.certificate, *still_valid(retired, now)))


def issue_serving(
    keyring: Keyring, names: SubjectNames, *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> Keyring:
    """Return a keyring with a new serving certificate.

    Raises:
        CertificateError: There is no CA that can sign it.
    """
    if keyring.ca is None:
        raise CertificateError("; ".join(keyring.problems) or "there is no CA that can sign")
    serving = issue(keyring.ca, names, now=now, lifetime=lifetime)
    return Keyring(serving=serving, ca=keyring.ca, trusted=keyring.trusted)


def serving_problem(serving: KeyPair | None, names: SubjectNames, now: datetime) -> str:
    """Return why no client accepts a serving certificate, as half a sentence; empty when nothing is wrong."""
    if serving is None:
        return "there is no serving certificate"
    if serving.expired(now):
        return f"the serving certificate expired on {serving.not_after:%Y-%m-%d %H:%M} UTC"
    if serving.not_yet_valid(now):
        return f"the serving certificate is not valid before {serving.not_before:%Y-%m-%d %H:%M} UTC"
    missing = {*names.dns, *map(str, names.addresses)}.difference(serving.names)
    return f"the serving certificate lacks the name {min(missing)}" if missing else ""


def is_better(
    keyring: Keyring, served: KeyPair | None, trust: Trust, *, names: SubjectNames, now: datetime
) -> bool:
    """Return whether a replica must serve the keyring's certificate instead of what it serves."""
    offered = keyring.serving
    if offered is None or offered == served or serving_problem(offered, names, now):
        return False
    if served is None or serving_problem(served, names, now) or not trust.trusts(served):
        return True
    signer = signer_of(offered, keyring.trusted)
    return signer is not None and trust.settled(signer, now)


def _plan_ca(keyring: Keyring, now: datetime, demand: Demand) -> Plan:
    ca, serving = keyring.ca, keyring.serving
    if ca is None:
        return Plan(action=Action.REPLACE_CA, reason="; ".join(keyring.problems) or "there is no CA")
    if problem := ca_problem(ca, now):
        return Plan(action=Action.REPLACE_CA, reason=problem)
    if _due(ca, now):
        reason = "the CA has less than a third of its life left"
    elif demand is Demand.CA:
        reason = "requested"
    else:
        return Plan(action=Action.KEEP)
    if serving and keyring.retired() and now - (serving.not_before + BACKDATE) < ADOPT:
        # A replica may still serve what a retired CA signed, which would be trusted no more.
        return Plan(action=Action.WAIT, reason="until every replica serves the newest certificate")
    return Plan(action=Action.REPLACE_CA, reason=reason)


def _plan_serving(keyring: Keyring, trust: Trust, names: SubjectNames, now: datetime, demand: Demand) -> Plan:
    ca, serving = keyring.ca, keyring.serving
    broken = serving_problem(serving, names, now)
    if broken or serving is None or ca is None:
        return Plan(action=Action.ISSUE, reason=broken)
    if signer_of(serving, [ca.certificate]) is None:
        reason = "the CA has not signed the serving certificate"
    elif _due(serving, now) and serving.not_after < ca.not_after:
        reason = "the serving certificate has less than a third of its life left"
    elif demand is Demand.SERVING:
        reason = "requested"
    else:
        return Plan(action=Action.KEEP)
    if not trust.settled(ca.certificate, now):
        return Plan(action=Action.WAIT, reason="until every API server trusts the CA")
    return Plan(action=Action.ISSUE, reason=reason)


def _due(pair: KeyPair, now: datetime) -> bool:
    """Return whether a third of its life or less is left, where cert-manager and kubelet rotate too."""
    return pair.not_after - now <= (pair.not_after - pair.not_before) / 3
