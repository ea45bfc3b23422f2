"""Whether the pods of one controller were all injected, and where nothing is. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.config.exemptions import INJECT_ANNOTATION
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.reports.lint_run import plural
from webhook.doctor.facts import Facts
from webhook.doctor.finding import Check, Verdict, listed, ok, warning

#: Controllers that are told one by one. Arbitrary; the count of the rest follows.
_TOLD: Final = 10


def _partial(facts: Facts) -> Iterator[Verdict]:
    """Find controllers some of whose pods were made while the webhook did not answer."""
    injection = facts.injection.get()
    for owner in injection.partial[:_TOLD]:
        yield warning(
            f"{owner.kind} {owner.namespace}/{owner.name}: {owner.bare} of {owner.bare + owner.injected} "
            f"pods are without {INJECTED_ANNOTATION}: made while the webhook did not answer or did not know "
            "their owner yet (evenkeel_cache_misses_total), or earlier",
            owner.restart
            or f"delete the pods of {owner.kind} {owner.name} that lack it, one after the other",
        )
    rest = injection.partial[_TOLD:]
    if rest:
        bare = sum(owner.bare for owner in rest)
        yield warning(
            f"{plural(len(rest), 'more controller')} with {plural(bare, 'pod')} that were not injected",
            "evenkeel doctor again, when these are mended",
        )
    hidden = f"; {injection.unseen}" if injection.unseen else ""
    if not injection.partial:
        yield ok(f"no controller is injected in part, of {plural(injection.pods, 'pod')}{hidden}")
    elif hidden:
        yield ok(f"looked at {plural(injection.pods, 'pod')}{hidden}")


def _exempt(facts: Facts) -> Iterator[Verdict]:
    """List the namespaces that have opted out: nothing is wrong with that."""
    exempt = sorted(namespace.name for namespace in facts.namespaces.get() if namespace.exempt)
    opted_out = f'{INJECT_ANNOTATION}: "false"'
    if exempt:
        yield ok(
            f"nothing is injected in {plural(len(exempt), 'namespace')} with {opted_out}: {listed(exempt)}"
        )
    else:
        yield ok(f"no namespace has {opted_out}")


CHECKS: Final = (Check("injected-in-part", _partial), Check("namespaces-exempt", _exempt))
