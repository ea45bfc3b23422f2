"""Whether the webhook configurations are there and say what they should. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.model.workload import KNOWN_KINDS, WorkloadKind
from webhook.doctor.facts import MUTATING, VALIDATING, Facts, Resource, Webhook
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning

#: The operations that each of the two is asked about; pods and templates are injected when they are made.
_OPERATIONS: Final = {MUTATING: ("CREATE",), VALIDATING: ("CREATE", "UPDATE")}
#: What a rule could ask for besides.
_OTHER_OPERATIONS: Final = {MUTATING: ("UPDATE", "DELETE", "CONNECT"), VALIDATING: ("DELETE", "CONNECT")}
#: Resources that Evenkeel never reviews and rules with wildcards match: a sample of what is busy.
_NEVER_REVIEWED: Final = (
    Resource("", "configmaps"),
    Resource("", "events"),
    Resource("", "nodes/status"),
    Resource("", "pods/binding"),
    Resource("", "pods/status"),
    Resource("coordination.k8s.io", "leases"),
)
_EDIT: Final = "kubectl edit {0}/{1}"


def resource_of(kind: WorkloadKind) -> Resource:
    """Return a kind as URLs write it; all known kinds form their plural with an s.

    >>> resource_of(KNOWN_KINDS[0])
    Resource(group='', plural='pods')
    """
    return Resource(kind.group, f"{kind.kind.lower()}s")


def _registered(facts: Facts) -> Iterator[Verdict]:
    """Tell whether both configurations are there and call our Service."""
    names = facts.names
    there = {configuration.kind: configuration for configuration in facts.ours.get()}
    for kind in (MUTATING, VALIDATING):
        configuration = there.get(kind)
        if configuration is None or not configuration.webhooks:
            what = "does not exist" if configuration is None else "holds no webhook"
            yield problem(f"{kind} {names.webhooks} {what}: the API server asks nobody", facts.install())
            continue
        for webhook in configuration.webhooks:
            if webhook.service != (names.namespace, names.service):
                where = f"Service {'/'.join(webhook.service)}" if webhook.service else "a URL"
                yield warning(
                    f"{webhook.name} calls {where}, not Service {names.namespace}/{names.service}",
                    f"evenkeel doctor -n {webhook.service[0]} --service {webhook.service[1]}"
                    if webhook.service
                    else edit(webhook),
                )
            else:
                yield ok(f"{webhook.name} calls Service {names.namespace}/{names.service}")


def _left_over(facts: Facts) -> Iterator[Verdict]:
    """Find configurations of other names that call our Service: left by another installation."""
    names = facts.names
    found = [
        configuration
        for configuration in facts.others.get()
        if any(webhook.service == (names.namespace, names.service) for webhook in configuration.webhooks)
    ]
    for configuration in found:
        yield warning(
            f"{configuration.kind} {configuration.name} calls Service {names.namespace}/{names.service} too: "
            "objects are reviewed twice",
            f"kubectl delete {configuration.kind.lower()} {configuration.name}",
        )
    if not found:
        yield ok("no other webhook configuration calls the Service")


def _fields(facts: Facts) -> Iterator[Verdict]:
    """Look at the fields that decide how the API server calls."""
    webhooks = facts.webhooks()
    found = [verdict for webhook in webhooks for verdict in _odd_fields(webhook)]
    yield from found
    if not found:
        yield ok(
            ", ".join(f"{webhook.name} has failurePolicy {webhook.failure_policy}" for webhook in webhooks)
        )


def _odd_fields(webhook: Webhook) -> Iterator[Verdict]:
    if webhook.mutating and webhook.fails_closed:
        yield warning(
            f"{webhook.name} has failurePolicy Fail: while no replica answers, no pod is made",
            patch(webhook, "failurePolicy", "Ignore"),
        )
    if webhook.side_effects not in ("None", "NoneOnDryRun"):
        yield problem(
            f"{webhook.name} has sideEffects {webhook.side_effects}: every dry run is refused",
            patch(webhook, "sideEffects", "None"),
        )
    if webhook.match_policy != "Equivalent":
        yield warning(
            f"{webhook.name} has matchPolicy {webhook.match_policy}: objects sent in another version pass by",
            patch(webhook, "matchPolicy", "Equivalent"),
        )
    if webhook.mutating and webhook.reinvocation_policy != "IfNeeded":
        yield warning(
            f"{webhook.name} has reinvocationPolicy {webhook.reinvocation_policy}: "
            "what later webhooks change is not looked at",
            patch(webhook, "reinvocationPolicy", "IfNeeded"),
        )


def _rules_cover(facts: Facts) -> Iterator[Verdict]:
    """Find kinds that the cluster serves and no rule asks for."""
    served = facts.served.get()
    for kind in (MUTATING, VALIDATING):
        webhooks = [webhook for webhook in facts.webhooks() if webhook.kind == kind]
        if not webhooks:
            continue
        due = [known for known in KNOWN_KINDS if resource_of(known) in served and _due(known, kind)]
        missed = [
            known.name
            for known in due
            if not _covered(webhooks, resource_of(known), served[resource_of(known)], _OPERATIONS[kind])
        ]
        names = ", ".join(webhook.name for webhook in webhooks)
        if missed:
            yield warning(
                f"no rule of {names} matches {listed(missed)}, which the cluster serves",
                _EDIT.format(kind.lower(), webhooks[0].configuration),
            )
        else:
            yield ok(f"{names} asks for all {len(due)} kinds that the cluster serves")


def _due(known: WorkloadKind, kind: str) -> bool:
    """Tell whether a webhook should be asked: the mutating one where defaults may be injected."""
    return kind == VALIDATING or (known.spreads and (known.is_pod or known.selector is not None))


def _covered(
    webhooks: list[Webhook], resource: Resource, versions: frozenset[str], operations: tuple[str, ...]
) -> bool:
    return all(
        any(
            rule.takes(operation, resource.group, resource.plural)
            # With matchPolicy Equivalent one version stands for all, if the cluster serves it.
            and ("*" in rule.versions or versions & set(rule.versions))
            for webhook in webhooks
            for rule in webhook.rules
        )
        for operation in operations
    )


def _rules_needless(facts: Facts) -> Iterator[Verdict]:
    """Find rules that ask for what Evenkeel never reviews."""
    found = False
    for webhook in facts.webhooks():
        needless = [
            f"{resource.plural}{f'.{resource.group}' if resource.group else ''}"
            for resource in _NEVER_REVIEWED
            if any(webhook.takes(operation, *resource) for operation in ("CREATE", "UPDATE"))
        ]
        needless += [
            f"{operation} of pods"
            for operation in _OTHER_OPERATIONS[webhook.kind]
            if webhook.takes(operation, "", "pods")
        ]
        if needless:
            found = True
            yield warning(
                f"{webhook.name} asks for {listed(needless)}, which Evenkeel never reviews: "
                "each costs a call, and under failurePolicy Fail an outage stops it",
                edit(webhook),
            )
    if not found:
        yield ok("no rule asks for what Evenkeel never reviews")


def edit(webhook: Webhook) -> str:
    """Return the command that opens a webhook's configuration in an editor."""
    return _EDIT.format(webhook.kind.lower(), webhook.configuration)


def patch(webhook: Webhook, field: str, value: str | int) -> str:
    """Return the command that sets a field of a webhook."""
    shown = value if isinstance(value, int) else f'"{value}"'
    return (
        f"kubectl patch {webhook.kind.lower()} {webhook.configuration} --type=json -p "
        f'\'[{{"op":"add","path":"/webhooks/{webhook.position}/{field}","value":{shown}}}]\''
    )


CHECKS: Final = (
    Check("webhooks-registered", _registered),
    Check("webhooks-left-over", _left_over),
    Check("webhook-fields", _fields),
    Check("rules-cover-kinds", _rules_cover),
    Check("rules-needless", _rules_needless),
)
