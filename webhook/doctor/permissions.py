"""Whether the ServiceAccounts have what they need, and not far more. Pure.

A permission is a text such as ``get secrets/NAME in NAMESPACE``, much as ``kubectl auth can-i`` takes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from policies.config.spread_policy import CRD_NAME
from policies.manifests.words import IN_MESSAGE, listed
from webhook.doctor.observations import CheckResult, Observations, ok, problem, warning
from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES
from webhook.rbac import GROUP, Resource
from webhook.settings import Access

#: What no webhook needs, and an attacker who takes a replica over would like to have.
EXCESSIVE: Final = (
    "* *.*",
    "list secrets",
    "create pods",
    "update deployments.apps",
    "delete nodes",
    "create clusterrolebindings.rbac.authorization.k8s.io",
    "impersonate users",
)


def _all_of(verbs: str, *what: str) -> tuple[str, ...]:
    """Return a permission for each verb on each thing."""
    return tuple(f"{verb} {thing}" for thing in what for verb in verbs.split())


_LEASE: Final = "leases.coordination.k8s.io/{lease}"
_CONFIGURATION: Final = "webhookconfigurations.admissionregistration.k8s.io/{webhooks}"
#: What --live can do without: what depends on these kinds is not modeled then.
OPTIONAL: Final = frozenset(
    _all_of("list watch", *(resource.title for resource in WATCHED_RESOURCES if resource.optional))
)
#: What --live needs: to follow the cluster and its policies, and to authorize callers.
LIVE: Final = (
    *_all_of("list watch", *(resource.title for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES))),
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
)
#: What --cert-secret needs: the Secret, the Lease of the leader, and the caBundles.
CERT_SECRET: Final = (
    *_all_of("get update", "secrets/{secret} in {namespace}", f"{_LEASE} in {{namespace}}"),
    *_all_of("get patch", f"mutating{_CONFIGURATION}", f"validating{_CONFIGURATION}"),
)
#: What --skew-metrics and --skew-events need: the Lease of the replica that measures.
SKEW: Final = _all_of("get update", f"{_LEASE}-skew in {{namespace}}")
#: What --skew-events needs: Events in the namespaces of all workloads.
SKEW_EVENTS: Final = _all_of("create patch", "events.events.k8s.io")
#: What --policy-status needs: the status of every policy, and the Lease of the replica that writes it.
POLICY_STATUS: Final = (
    f"patch {CRD_NAME} --subresource=status",
    *_all_of("get update", f"{_LEASE}-status in {{namespace}}"),
)
#: What callers need. No API server has these resources, so that the permissions are worth nothing there.
CLIENT: Final = (
    f"create {Resource.PLACEMENTS}.{GROUP}",
    f"create {Resource.LINT_REPORTS}.{GROUP}",
    f"get {Resource.METRICS}.{GROUP}",
)
#: What the account of callers must not have besides: everyone who may call Evenkeel gets a token of it.
CLIENT_EXCESSIVE: Final = ("get /metrics", "list nodes", "list pods", *EXCESSIVE)


def of_replicas(observed: Observations) -> tuple[str, ...]:
    """Return the permissions of the replicas' account to review: needed by their settings, and excessive."""
    settings, names = observed.pods()[0].settings, observed.names
    lease = settings.get("lease") or names.service
    values = {"secret": observed.secret, "lease": lease, "namespace": names.namespace}
    live = LIVE if "live" in settings else ()
    named: tuple[str, ...] = CERT_SECRET if "cert_secret" in settings else ()
    if "policy_status" in settings:
        named += POLICY_STATUS
    if settings.get("skew_metrics", "0") != "0" or "skew_events" in settings:
        named += SKEW
    needed = (permission.format(webhooks=names.webhooks, **values) for permission in named)
    events = SKEW_EVENTS if "skew_events" in settings else ()
    return (*live, *needed, *events, *EXCESSIVE)


def of_clients(observed: Observations) -> tuple[str, ...]:
    """Return the permissions of the callers' account to review; none where replicas do not authorize them."""
    settings = observed.pods()[0].settings
    authorized = "live" in settings and settings.get("access") != Access.OPEN
    return (*CLIENT, *CLIENT_EXCESSIVE) if authorized else ()


def review_attributes(permission: str) -> dict[str, dict[str, str]]:
    """Return the attributes of a SubjectAccessReview for a permission.

    >>> review_attributes("get leases.coordination.k8s.io/a in b")["resourceAttributes"]
    {'verb': 'get', 'resource': 'leases', 'group': 'coordination.k8s.io', 'name': 'a', 'namespace': 'b'}
    """
    verb, _, what = permission.partition(" ")
    if what.startswith("/"):
        return {"nonResourceAttributes": {"verb": verb, "path": what}}
    what, _, subresource = what.partition(" --subresource=")
    what, _, namespace = what.partition(" in ")
    what, _, name = what.partition("/")
    resource, _, group = what.partition(".")
    found = {
        "verb": verb,
        "resource": resource,
        "subresource": subresource,
        "group": group,
        "name": name,
        "namespace": namespace,
    }
    return {"resourceAttributes": {key: value for key, value in found.items() if value}}


def _needed(observed: Observations) -> Iterator[CheckResult]:
    """The replicas' account has what it needs."""
    has, who = observed.permissions.get(), observed.account
    needed = [permission for permission in has if permission not in EXCESSIVE]
    user = f"system:serviceaccount:{who.replace('/', ':')}"
    advice = f"{observed.install}, which brings its roles; to see them: kubectl auth can-i --list --as={user}"
    lacking = [permission for permission in needed if not has[permission]]
    if missing := [permission for permission in lacking if permission not in OPTIONAL]:
        yield problem(f"ServiceAccount {who} cannot {listed(missing, IN_MESSAGE)}", advice)
    if missing := [permission for permission in lacking if permission in OPTIONAL]:
        effect = "answers name these kinds under notModeled where they matter"
        yield warning(f"ServiceAccount {who} cannot {listed(missing, IN_MESSAGE)}: {effect}", advice)
    if not lacking:
        yield ok(f"ServiceAccount {who} has the {len(needed)} permissions that it needs")


def _excessive(observed: Observations) -> Iterator[CheckResult]:
    """The replicas' account has nothing that no webhook needs."""
    yield _surplus(observed.account, observed.permissions.get(), EXCESSIVE)


def _client(observed: Observations) -> Iterator[CheckResult]:
    """The account of callers can call Evenkeel, and do nothing at the API server."""
    has, who = observed.client_permissions.get(), observed.names.client
    if not has:
        yield ok("replicas do not authorize callers, who need no ServiceAccount then")
        return
    if lacking := [permission for permission in CLIENT if not has[permission]]:
        yield warning(
            f"ServiceAccount {who} cannot {listed(lacking, IN_MESSAGE)}:"
            " replicas refuse commands with --live",
            f"{observed.install}, which brings its roles",
        )
    yield _surplus(who, has, CLIENT_EXCESSIVE)


def _surplus(who: str, has: Mapping[str, bool], excessive: tuple[str, ...]) -> CheckResult:
    """Return the result for the permissions that an account must not have."""
    if granted := [permission for permission in excessive if has[permission]]:
        return warning(
            f"ServiceAccount {who} can {listed(granted, IN_MESSAGE)}, which Evenkeel never needs",
            f"find the binding: kubectl get clusterrolebindings -o wide | grep {who}",
        )
    return ok(f"ServiceAccount {who} has none of {len(excessive)} permissions that would be too much")


CHECKS: Final = {
    "permissions-needed": _needed,
    "permissions-excessive": _excessive,
    "permissions-client": _client,
}
