"""Whether webhooks can make the API server wait too long. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.reports.lint_run import plural
from webhook.doctor.facts import Facts, Known, Namespace, Webhook
from webhook.doctor.finding import Check, Verdict, listed, ok, warning
from webhook.doctor.registration import patch

#: Seconds that one of our webhooks may take before it is told. Kubernetes' default for timeoutSeconds.
LONG_TIMEOUT_S: Final = 10
#: Seconds within which the whole of a write must be done, less a few for the write itself: the API server
#: gives up after 34 s (``requestTimeoutUpperBound``, apiserver ``endpoints/handlers``).
REQUEST_S: Final = 30
#: Seconds that are proposed instead. As in the shipped manifests.
_USUAL_TIMEOUT_S: Final = 3


def _own(facts: Facts) -> Iterator[Verdict]:
    """Tell whether our own webhooks give up soon."""
    webhooks = facts.webhooks()
    slow = [webhook for webhook in webhooks if webhook.timeout_s > LONG_TIMEOUT_S]
    for webhook in slow:
        yield warning(
            f"{webhook.name} has timeoutSeconds {webhook.timeout_s}: so long a write waits for a replica "
            "that does not answer",
            patch(webhook, "timeoutSeconds", _USUAL_TIMEOUT_S),
        )
    if not slow:
        yield ok(", ".join(f"{webhook.name} {webhook.timeout_s} s" for webhook in webhooks))


def _all(facts: Facts) -> Iterator[Verdict]:
    """Add up what a new pod waits: mutating webhooks one after the other, validating ones at once."""
    configurations = (*facts.ours.get(), *facts.others.get())
    webhooks = [
        webhook
        for configuration in configurations
        for webhook in configuration.webhooks
        if webhook.takes("CREATE", "", "pods")
    ]
    namespaces = facts.namespaces.value if isinstance(facts.namespaces, Known) else ()
    # Where nobody may look at the namespaces, every webhook counts.
    waits = [(_wait_s(webhooks, namespace), namespace.name) for namespace in namespaces]
    seconds, where = max(waits, default=(_wait_s(webhooks, None), "some namespace"))
    if seconds < REQUEST_S:
        yield ok(f"{plural(len(webhooks), 'webhook')} for pods, {seconds} s together at worst")
        return
    slowest = sorted(webhooks, key=lambda webhook: -webhook.timeout_s)
    told = listed([f"{webhook.name} {webhook.timeout_s} s" for webhook in slowest])
    yield warning(
        f"a new pod in {where} may wait {seconds} s for webhooks that do not answer; the API server gives "
        f"up after {REQUEST_S} s, whatever their failurePolicy: {told}",
        patch(slowest[0], "timeoutSeconds", _USUAL_TIMEOUT_S),
    )


def _wait_s(webhooks: list[Webhook], namespace: Namespace | None) -> int:
    """Return the seconds that a new pod of a namespace waits at worst."""
    called = [
        webhook
        for webhook in webhooks
        if namespace is None or webhook.namespace_selector.matches(namespace.labels)
    ]
    one_by_one = sum(webhook.timeout_s for webhook in called if webhook.mutating)
    return one_by_one + max((webhook.timeout_s for webhook in called if not webhook.mutating), default=0)


CHECKS: Final = (Check("timeout-own", _own), Check("timeout-sum", _all))
