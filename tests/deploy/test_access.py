"""What the server and its callers may do in a cluster, and nothing else."""

from __future__ import annotations

import pytest

from tests.deploy.manifests import Manifests, base, render
from webhook.cluster.asking import DEFAULT_SERVICE, account_of, proxied
from webhook.cluster.listing import RESOURCES

#: A right: API group, resource, name (empty for any), verb.
Right = tuple[str, str, str, str]

FOLLOWED = {
    (resource.api_version.rpartition("/")[0], f"{resource.kind.lower()}s", "", verb)
    for resource in RESOURCES
    for verb in ("list", "watch")
}
ASKED = {
    ("authentication.k8s.io", "tokenreviews", "", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "", "create"),
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
        for name in (proxied(DEFAULT_SERVICE), "https:evenkeel:443")
        for verb in ("get", "create")
    ),
}


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
        pytest.param("ClusterRole", "evenkeel", FOLLOWED | ASKED | TRUSTED, id="the server in the cluster"),
        pytest.param("Role", "evenkeel", KEPT, id="the server in its namespace"),
        pytest.param("Role", "evenkeel-client", CLIENT, id="people"),
    ],
)
def test_a_role_has_what_it_needs(kind: str, name: str, rights: set[Right]) -> None:
    """Each right is one that the program uses, and there is none besides."""
    assert rights == _rights(base(), kind, name)


@pytest.mark.parametrize(
    ("name", "paths", "verbs"),
    [
        ("evenkeel-client", ["/v1/*", "/metrics"], ["get", "post"]),
        ("evenkeel-metrics", ["/metrics"], ["get"]),
    ],
)
def test_a_role_opens_routes(name: str, paths: list[str], verbs: list[str]) -> None:
    """Such a role holds no right to an object."""
    assert [{"nonResourceURLs": paths, "verbs": verbs}] == base()["ClusterRole", name]["rules"]


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_what_is_written_is_named(kind: str) -> None:
    """No right to change anything holds for all objects of a kind, but for reviews, which are not stored."""
    changing = {
        right
        for (each, name), manifest in base().items()
        if each == kind and "rules" in manifest
        for right in _rights(base(), each, name)
        if right[3] not in {"get", "list", "watch"}
    }

    assert {right for right in changing if not right[2]} <= ASKED


def test_with_cert_manager_the_server_writes_nothing() -> None:
    """Neither its own certificate nor the authority is its to change."""
    manifests = render(values={"certificates": {"source": "certManager"}})

    assert FOLLOWED | ASKED == _rights(manifests, "ClusterRole", "evenkeel")
    assert ("Role", "evenkeel") not in manifests
    assert ("Secret", "evenkeel-tls") not in manifests


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
