"""Whether the replicas' account may do what it must, and not far more, and so the clients' account. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.doctor.facts import Ask, Facts, Names
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning
from webhook.kube.list import WATCHED_RESOURCES
from webhook.rbac import GROUP, Resource

#: What no webhook needs, and whoever takes a replica over would like to have.
EXCESSIVE: Final = (
    Ask("*", "*", "*"),
    Ask("list", "", "secrets"),
    Ask("create", "", "pods"),
    Ask("update", "apps", "deployments"),
    Ask("delete", "", "nodes"),
    Ask("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    Ask("impersonate", "", "users"),
)
#: What people ask replicas for, in the name of an account of their own.
CLIENT_NEEDED: Final = (
    Ask("create", GROUP, Resource.PLACEMENTS.value),
    Ask("create", GROUP, Resource.LINT_REPORTS.value),
    Ask("get", GROUP, Resource.METRICS.value),
)
#: What that account may not do: a token of it, for the API server too, is for whoever may ask.
CLIENT_EXCESSIVE: Final = (
    Ask("get", path="/metrics"),
    Ask("list", "", "nodes"),
    Ask("list", "", "pods"),
    *EXCESSIVE,
)


def following() -> tuple[Ask, ...]:
    """Return what ``--live`` needs."""
    return tuple(
        Ask(verb, resource.group, resource.plural)
        for resource in WATCHED_RESOURCES
        for verb in ("list", "watch")
    )


def vouching(names: Names, secret: str, lease: str) -> tuple[Ask, ...]:
    """Return what ``--cert-secret`` needs."""
    space, group = names.namespace, "admissionregistration.k8s.io"
    return (
        Ask("get", "", "secrets", secret, space),
        Ask("update", "", "secrets", secret, space),
        Ask("get", "coordination.k8s.io", "leases", lease, space),
        Ask("update", "coordination.k8s.io", "leases", lease, space),
        Ask("get", group, "mutatingwebhookconfigurations", names.webhooks),
        Ask("patch", group, "mutatingwebhookconfigurations", names.webhooks),
        Ask("get", group, "validatingwebhookconfigurations", names.webhooks),
        Ask("patch", group, "validatingwebhookconfigurations", names.webhooks),
    )


#: What asking for callers' tokens needs.
REVIEWING: Final = (
    Ask("create", "authentication.k8s.io", "tokenreviews"),
    Ask("create", "authorization.k8s.io", "subjectaccessreviews"),
)


def _needed(facts: Facts) -> Iterator[Verdict]:
    """Find what the account lacks."""
    access = facts.access.get()
    lacking = [str(ask) for ask, may in access.items() if ask not in EXCESSIVE and not may]
    who = f"ServiceAccount {facts.names.namespace}/{facts.account}"
    if lacking:
        yield problem(
            f"{who} may not {listed(lacking)}",
            f"helm upgrade evenkeel deploy/helm/evenkeel -n {facts.names.namespace}, which brings its roles; "
            "to see them: kubectl auth can-i --list "
            f"--as=system:serviceaccount:{facts.names.namespace}:{facts.account}",
        )
    else:
        yield ok(f"{who} may do the {len(access) - len(EXCESSIVE)} things that it needs")


def _excessive(facts: Facts) -> Iterator[Verdict]:
    """Find what the account may do that no webhook needs."""
    access = facts.access.get()
    granted = [str(ask) for ask in EXCESSIVE if access.get(ask)]
    who = f"ServiceAccount {facts.names.namespace}/{facts.account}"
    if granted:
        yield warning(
            f"{who} may {listed(granted)} in the whole cluster, which Evenkeel never does",
            "find the binding: kubectl get clusterrolebindings -o wide | grep "
            f"{facts.names.namespace}/{facts.account}",
        )
    else:
        yield ok(f"{who} may do none of {len(EXCESSIVE)} things that would be too much")


def _client(facts: Facts) -> Iterator[Verdict]:
    """Find what the account lacks in whose name people ask, or what it may do at the API server."""
    access = facts.client_access.get()
    if not access:
        return
    who = f"ServiceAccount {facts.names.namespace}/{facts.names.client}"
    lacking = [str(ask) for ask in CLIENT_NEEDED if not access.get(ask)]
    granted = [str(ask) for ask in CLIENT_EXCESSIVE if access.get(ask)]
    if lacking:
        yield warning(
            f"{who} may not {listed(lacking)}, so --live is refused by the replicas",
            f"helm upgrade evenkeel deploy/helm/evenkeel -n {facts.names.namespace}, which brings its roles",
        )
    if granted:
        yield warning(
            f"{who} may {listed(granted)}, and whoever may ask Evenkeel gets tokens of it",
            "find the binding: kubectl get clusterrolebindings -o wide | grep "
            f"{facts.names.namespace}/{facts.names.client}",
        )
    if not lacking and not granted:
        yield ok(f"{who} may ask the replicas, and do nothing at the API server")


CHECKS: Final = (
    Check("permissions-needed", _needed),
    Check("permissions-excessive", _excessive),
    Check("permissions-client", _client),
)
