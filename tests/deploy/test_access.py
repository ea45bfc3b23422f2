"""The rights of the server and its callers in a cluster, and no others."""

from __future__ import annotations

import pytest

from tests.deploy.manifests import Manifests, base, render, rendered
from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES
from webhook.rbac import DEFAULT_SERVICE, GROUP, account_of, proxied

#: A right: API group, resource, name (empty for any), verb.
Right = tuple[str, str, str, str]

FOLLOWED = {
    (resource.group, resource.plural, "", verb)
    for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES)
    for verb in ("list", "watch")
}
ASKED = {
    ("authentication.k8s.io", "tokenreviews", "", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "", "create"),
}
#: The right to report on policies, whose names users choose.
REPORTED = {("evenkeel.dev", "spreadpolicies/status", "", "patch")}
#: The Lease of the replica that does.
REPORTING = {
    ("coordination.k8s.io", "leases", "evenkeel-status", verb) for verb in ("get", "patch", "update")
}
TRUSTED = {
    ("admissionregistration.k8s.io", f"{kind}webhookconfigurations", "evenkeel", verb)
    for kind in ("mutating", "validating")
    for verb in ("get", "patch")
}
KEPT = {
    ("", "secrets", "evenkeel-tls", "get"),
    ("", "secrets", "evenkeel-tls", "update"),
    ("coordination.k8s.io", "leases", "evenkeel", "get"),
    ("coordination.k8s.io", "leases", "evenkeel", "patch"),
    ("coordination.k8s.io", "leases", "evenkeel", "update"),
}
#: The right to a token that says who asks, and to be let through.
CLIENT = {
    ("", "serviceaccounts/token", account_of(DEFAULT_SERVICE), "create"),
    *(
        ("", "services/proxy", name, verb)
        for name in (proxied(DEFAULT_SERVICE), "https:evenkeel-api:443")
        for verb in ("get", "create")
    ),
}

#: What the pods of the API add to an installation.
API = {
    (kind, f"evenkeel-api{'-cluster' if kind == 'ClusterRoleBinding' else ''}")
    for kind in ("ClusterRoleBinding", "Deployment", "NetworkPolicy", "Service", "ServiceAccount")
}
METRICS = (GROUP, "metrics", "", "get")
#: The rights to the replicas' own routes, as resources that no API server has.
SHOWN = {(GROUP, "placements", "", "create"), (GROUP, "lintreports", "", "create"), METRICS}


def _rights(manifests: Manifests, kind: str, name: str) -> set[Right]:
    return {
        (group, resource, named, verb)
        for rule in manifests[kind, name]["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
        for named in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("kind", "name", "rights"),
    [
        pytest.param("ClusterRole", "evenkeel-cluster", FOLLOWED | ASKED, id="every server in the cluster"),
        pytest.param("ClusterRole", "evenkeel", REPORTED | TRUSTED, id="the server in the cluster"),
        pytest.param("Role", "evenkeel", KEPT | REPORTING, id="the server in its namespace"),
        pytest.param("Role", "evenkeel-client", CLIENT, id="people"),
        pytest.param("ClusterRole", "evenkeel-client", SHOWN, id="the account that people ask with"),
        pytest.param("ClusterRole", "evenkeel-metrics", {METRICS}, id="Prometheus"),
    ],
)
def test_a_role_has_what_it_needs(kind: str, name: str, rights: set[Right]) -> None:
    """Each right is one that the program uses, and there is none besides."""
    assert rights == _rights(base(), kind, name)


@pytest.mark.parametrize("key", [key for key, made in base().items() if "rules" in made], ids=str)
def test_no_role_opens_a_path(key: tuple[str, str]) -> None:
    """Paths are the API server's, too: who may get /metrics of ours could read its own."""
    assert not [rule for rule in base()[key]["rules"] if "nonResourceURLs" in rule]


@pytest.mark.parametrize("account", ["evenkeel-client", "evenkeel-metrics"])
def test_an_account_of_callers_has_one_right(account: str) -> None:
    """Who asks for a token chooses its audience, so these accounts may do nothing at the API server."""
    manifests = render(values={"monitoring": {"serviceMonitor": {"enabled": True}}})
    roles = [
        (made["roleRef"]["kind"], made["roleRef"]["name"])
        for (kind, _), made in manifests.items()
        if kind.endswith("Binding")
        for subject in made["subjects"]
        if subject["kind"] == "ServiceAccount" and subject["name"] == account
    ]

    assert [("ClusterRole", account)] == roles
    assert {GROUP} == {group for group, *_ in _rights(manifests, "ClusterRole", account)}


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_what_is_written_is_named(kind: str) -> None:
    """No right to change anything holds for all objects of a kind, but for what is not stored."""
    changing = {
        right
        for (each, name), manifest in base().items()
        if each == kind and "rules" in manifest
        for right in _rights(base(), each, name)
        if right[3] not in {"get", "list", "watch"}
    }

    assert {right for right in changing if not right[2]} <= ASKED | SHOWN | REPORTED


def test_with_cert_manager_the_server_writes_the_status_of_policies_alone() -> None:
    """Neither its own certificate nor the authority is its to change."""
    manifests = render(values={"certificates": {"source": "certManager"}})

    assert REPORTED == _rights(manifests, "ClusterRole", "evenkeel")
    assert _rights(manifests, "Role", "evenkeel") == REPORTING
    assert ("Secret", "evenkeel-tls") not in manifests


def test_skew_needs_a_lease_and_events() -> None:
    """Measuring skew adds rights to its own Lease, and to Events only where they are enabled."""
    lease = {("coordination.k8s.io", "leases", "evenkeel-skew", verb) for verb in ("get", "patch", "update")}
    events = {("events.k8s.io", "events", "", verb) for verb in ("create", "patch")}
    metrics = render(values={"skew": {"metrics": 9}})
    both = render(values={"skew": {"metrics": 9, "events": True}})
    added = API | {("Lease", "evenkeel-skew"), ("Role", "evenkeel-skew"), ("RoleBinding", "evenkeel-skew")}

    assert added == metrics.keys() - rendered().keys()
    assert lease == _rights(metrics, "Role", "evenkeel-skew")
    assert added | {("ClusterRole", "evenkeel-events"), ("ClusterRoleBinding", "evenkeel-events")} == (
        both.keys() - rendered().keys()
    )
    assert events == _rights(both, "ClusterRole", "evenkeel-events")
    assert all(rendered()[key] == both[key] for key in rendered())


def test_the_api_reads_what_is_followed_and_writes_nothing() -> None:
    """Its account has one role of the two of the server, and no Secret; skew adds what is its own alone."""
    made = render(values={"api": {"enabled": True}})
    roles = {}
    for skew in (False, True):
        found = render(values={"api": {"enabled": True}, "skew": {"events": skew}})
        bindings = [each for (kind, _), each in found.items() if kind.endswith("Binding")]
        roles[skew] = {
            each["roleRef"]["name"] for each in bindings if each["subjects"][0]["name"] == "evenkeel-api"
        }

    assert API == made.keys() - rendered().keys()
    assert all(rendered()[key] == made[key] for key in rendered())
    assert {
        False: {"evenkeel-cluster"},
        True: {"evenkeel-cluster", "evenkeel-skew", "evenkeel-events"},
    } == roles
    assert "secret" not in str(made["Deployment", "evenkeel-api"]).lower()


def test_nobody_may_ask_unless_named() -> None:
    """People get their role bound by a value; by default nobody does."""
    jane = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    binding = render(values={"access": {"subjects": [jane]}})["RoleBinding", "evenkeel-client"]

    assert ("RoleBinding", "evenkeel-client") not in base()
    assert ([jane], "evenkeel-client") == (binding["subjects"], binding["roleRef"]["name"])


@pytest.mark.parametrize("binding", [key for key in base() if key[0].endswith("Binding")], ids=str)
def test_a_binding_refers_to_what_is_there(binding: tuple[str, str]) -> None:
    """Role and account are in the same installation."""
    manifest = base()[binding]
    role = manifest["roleRef"]

    assert (role["kind"], role["name"]) in base()
    assert all((subject["kind"], subject["name"]) in base() for subject in manifest["subjects"])
