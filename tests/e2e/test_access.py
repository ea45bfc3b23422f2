"""Who may do what: Evenkeel in the cluster, and people at Evenkeel."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml

from policies.config.context import STRANGER
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import CONFIGURATIONS, NAME, ROOT, Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import ZONE_KEY, ZONES, constraint, deployment, pod
from tests.e2e.readiness import asked
from tests.waiting import PATIENCE_S
from tests.webhook.running import review_of
from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES
from webhook.rbac import AUDIENCE

pytestmark = pytest.mark.usefixtures("installed")

#: All that a replica may do in its own namespace: group, resource, name, verb.
ALLOWED = {
    *(
        (resource.group, resource.plural, "", verb)
        for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES)
        for verb in ("list", "watch")
    ),
    ("authentication.k8s.io", "tokenreviews", "", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "", "create"),
    *(
        ("admissionregistration.k8s.io", kind, NAME, verb)
        for kind in CONFIGURATIONS
        for verb in ("get", "patch")
    ),
    *(("", "secrets", "evenkeel-tls", verb) for verb in ("get", "update")),
    *(
        ("coordination.k8s.io", "leases", lease, verb)
        for lease in (NAME, f"{NAME}-status")
        for verb in ("get", "patch", "update")
    ),
    ("evenkeel.dev", "spreadpolicies/status", "", "patch"),
}
#: Actions that an attacker who took over a replica must not be able to perform.
FORBIDDEN = [
    ("*", "*", ""),
    ("get", "pods", ""),
    ("create", "pods", NAME),
    ("delete", "pods", NAME),
    ("create", "pods --subresource=exec", NAME),
    ("update", "nodes", ""),
    ("list", "secrets", ""),
    ("list", "secrets", NAME),
    ("watch", "secrets", NAME),
    ("get", "secrets/other", NAME),
    ("create", "secrets", NAME),
    ("delete", "secrets/evenkeel-tls", NAME),
    ("get", "secrets/evenkeel-tls", "kube-system"),
    ("list", "configmaps", ""),
    ("create", "leases.coordination.k8s.io", NAME),
    ("update", "leases.coordination.k8s.io/other", NAME),
    ("list", "deployments.apps", ""),
    ("create", "serviceaccounts --subresource=token", NAME),
    ("impersonate", "users", ""),
    ("create", "mutatingwebhookconfigurations.admissionregistration.k8s.io", ""),
    ("delete", "mutatingwebhookconfigurations.admissionregistration.k8s.io/evenkeel", ""),
    ("patch", "mutatingwebhookconfigurations.admissionregistration.k8s.io/other", ""),
    ("update", "validatingwebhookconfigurations.admissionregistration.k8s.io/other", ""),
    ("escalate", "clusterroles.rbac.authorization.k8s.io", ""),
    ("bind", "clusterroles.rbac.authorization.k8s.io", ""),
]


def _rules(control_plane: ControlPlane, token: str) -> set[tuple[str, str, str, str]]:
    """Return the rights of an account in our namespace, as the API server sums them up."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": NAME},
    }
    with control_plane.client(token) as client:
        told = client.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
    objects = {
        (group, resource, name, verb)
        for rule in told["status"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }
    paths = {
        ("", path, "", verb)
        for rule in told["status"]["nonResourceRules"]
        for path in rule["nonResourceURLs"]
        for verb in rule["verbs"]
    }
    return objects | paths


@pytest.fixture(scope="module")
def accounts(installed: Installation, control_plane: ControlPlane) -> Iterator[dict[str, str]]:
    """Tokens for the API server: of an account without a role, and of one that may read our metrics."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "scraper"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"{NAME}-metrics",
        },
        "subjects": [{"kind": "ServiceAccount", "namespace": NAME, "name": "scraper"}],
    }
    made: list[Manifest] = [
        {**account, "metadata": {"name": name, "namespace": NAME}} for name in ("everybody", "scraper")
    ]
    control_plane.kubectl.do("create", "-f", "-", stdin=[*made, binding])
    yield {name: installed.token(name) for name in ("everybody", "scraper", f"{NAME}-client")}
    control_plane.kubectl.do("delete", "-f", "-", stdin=[*made, binding])


def test_replicas_may_do_this_and_nothing_else(
    installed: Installation, control_plane: ControlPlane, accounts: dict[str, str]
) -> None:
    """Besides the rights of every account, the ServiceAccount has exactly those that the replicas use."""
    everybody = _rules(control_plane, accounts["everybody"])

    assert ALLOWED == _rules(control_plane, installed.server_token) - everybody


#: The API server's own paths: those that our routes share, and those that show what runs in a cluster.
_ITS_OWN = ["/metrics", "/v1/score", "/logs", "/debug/pprof/", "/api/v1/pods", "/api/v1/nodes"]


@pytest.mark.parametrize("account", [f"{NAME}-client", "scraper"])
def test_a_callers_token_is_worth_nothing_at_the_api_server(
    control_plane: ControlPlane, accounts: dict[str, str], account: str
) -> None:
    """Who asks for a token chooses its audience, so the account itself may do no more than everybody."""
    everybody = _rules(control_plane, accounts["everybody"])
    groups = {group for group, *_ in _rules(control_plane, accounts[account]) - everybody}
    with control_plane.client(accounts[account]) as client:
        answers = {path: client.send("GET", path)[0] for path in _ITS_OWN}

    assert {"evenkeel.dev"} == groups
    assert dict.fromkeys(_ITS_OWN, HTTPStatus.FORBIDDEN) == answers


@pytest.mark.parametrize(
    ("path", "account", "status"),
    [
        pytest.param("/metrics", "scraper", HTTPStatus.OK, id="metrics: as Prometheus has it"),
        pytest.param("/metrics", "everybody", HTTPStatus.FORBIDDEN, id="metrics: without the right"),
        pytest.param("/v1/score", f"{NAME}-client", HTTPStatus.UNAUTHORIZED, id="placements"),
        pytest.param("/v1/lint", f"{NAME}-client", HTTPStatus.UNAUTHORIZED, id="lint reports"),
    ],
)
def test_tokens_for_the_api_server(
    installed: Installation, accounts: dict[str, str], path: str, account: str, status: HTTPStatus
) -> None:
    """A token that is worth something elsewhere is taken for metrics alone."""
    port = next(iter(installed.replicas))

    assert status == asked(port, path, token=accounts[account], body=GUARDED[path])[0]


@pytest.mark.parametrize(
    ("verb", "what", "namespace"), [pytest.param(*row, id=" ".join(row).strip()) for row in FORBIDDEN]
)
def test_forbidden(installed: Installation, verb: str, what: str, namespace: str) -> None:
    """Actions that would help an attacker who took over a replica are denied."""
    where = ["-n", namespace] if namespace else ["--all-namespaces"]
    told = installed.server("auth", "can-i", verb, *what.split(), *where)

    assert (1, "no") == (told.code, told.out[:2])


#: The routes that show what runs in the cluster, with a body for those that need one.
GUARDED: dict[str, Manifest | None] = {
    "/metrics": None,
    "/v1/score": {"pod": pod("web")},
    "/v1/explain": {"pod": pod("web")},
    "/v1/simulate": {"queue": [pod("web")]},
    "/v1/advise": {"workload": deployment("web"), "oneANode": True},
    "/v1/lint": {"objects": []},
}


@pytest.mark.parametrize("path", GUARDED)
def test_routes_ask_who_calls(installed: Installation, path: str) -> None:
    """Nobody and strangers are refused, an account with the role is answered; a bad token is nobody's."""
    port = next(iter(installed.replicas))
    tokens = {"nobody": "", "forger": "e30.e30.e30", "stranger": installed.token(NAME, AUDIENCE)}
    tokens["client"] = installed.client_token
    answers = {who: asked(port, path, token=token, body=GUARDED[path])[0] for who, token in tokens.items()}
    expected = {
        "nobody": HTTPStatus.UNAUTHORIZED,
        "forger": HTTPStatus.UNAUTHORIZED,
        "stranger": HTTPStatus.FORBIDDEN,
        "client": HTTPStatus.OK,
    }

    assert expected == answers


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json"])
def test_open_routes(installed: Installation, path: str) -> None:
    """Routes that show nothing of the cluster are answered without a token."""
    assert HTTPStatus.OK == asked(next(iter(installed.replicas)), path)[0]


#: A Deployment of whose next pod a forecast is made: it fits on no node.
UNFIT = deployment("unfit", constraints=[])
UNFIT["spec"]["template"]["spec"]["nodeSelector"] = {ZONE_KEY: "zone-x"}
_NODES = [name for names in ZONES.values() for name in names]
#: The facts of the cluster that the answer about it may have.
FACTS = [*ZONES, *_NODES, f"{len(_NODES)} nodes"]


def _review(obj: Manifest) -> Manifest:
    found: Manifest = json.loads(review_of(obj))
    return found


def test_the_api_server_is_told_of_the_cluster(kubectl: Kubectl, space: str) -> None:
    """Who applies something reads of nodes and zones: the API server calls by the path of the Secret."""
    told = kubectl("create", "--dry-run=server", "-f", "-", stdin=UNFIT)

    assert any(fact in warning for warning in told.warnings for fact in FACTS), told.err
    assert STRANGER not in told.err


@pytest.mark.parametrize("path", ["/validate", "/validate/" + "x" * 43, "/mutate"])
def test_a_pod_of_the_cluster_is_not(installed: Installation, space: str, path: str) -> None:
    """It reaches the port and gets an answer, but of nothing besides the object; that is denied as ever."""
    broken = deployment(constraints=[constraint(maxSkew=0)])
    for port in installed.replicas:
        status, text = asked(port, path, body=_review(UNFIT))
        answer = json.loads(text)["response"]
        denied = json.loads(asked(port, path, body=_review(broken))[1])["response"]

        assert (HTTPStatus.OK, True) == (status, answer["allowed"])
        assert [] == [fact for fact in FACTS if fact in text.decode()]
        assert path == "/mutate" or not denied["allowed"]
        known = json.loads(asked(port, installed.path("/validate"), body=_review(UNFIT))[1])
        assert any(fact in str(known) for fact in FACTS), known


def test_nothing_names_the_path(installed: Installation, kubectl: Kubectl) -> None:
    """Neither logs nor metrics, probes, Events, statuses or the doctor."""
    replicas = list(installed.replicas)
    texts = [installed.replicas[port].log.read_text() for port in replicas]
    texts += [asked(port, "/metrics", token=installed.client_token)[1].decode() for port in replicas]
    texts += [
        asked(port, path)[1].decode() for port in replicas for path in ("/readyz", "/openapi.json", "/x")
    ]
    texts += [str(installed.evenkeel("doctor", "-o", form)) for form in ("text", "json")]
    texts += [kubectl.do("get", "events,spreadpolicies,leases,pods", "-A", "-o", "yaml")]

    assert all(texts)
    assert [] == [text for text in texts if installed.path_token in text]


@pytest.fixture
def helm(installed: Installation, kubectl: Kubectl) -> Iterator[Callable[..., dict[str, Manifest]]]:
    """Renders the chart for the cluster and stores its Secret, and nothing else of it."""
    program = Path(sys.executable).with_name("helm")

    def upgrade(*options: str) -> dict[str, Manifest]:
        done = subprocess.run(
            [program, "template", "charted", ROOT / "deploy/helm/evenkeel", f"--namespace={NAME}",
             "--set=name=charted,image.repository=registry.example/evenkeel", *options],
            env={"KUBECONFIG": str(kubectl.kubeconfig), "HOME": str(installed.folder)},
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert 0 == done.returncode, done.stderr
        found = {made["kind"]: made for made in yaml.safe_load_all(done.stdout) if made and _has_token(made)}
        if "Secret" in found:
            kubectl.do("apply", "-f", "-", stdin=found["Secret"])
        return found

    yield upgrade
    kubectl.do("delete", "secret", "charted-path", "-n", NAME, "--ignore-not-found")


def _has_token(made: Manifest) -> bool:
    return made["metadata"]["name"] == "charted-path" or "webhooks" in made


def _paths(found: dict[str, Manifest]) -> set[str]:
    """Return the paths that the webhooks of the chart call."""
    webhooks = [webhook for made in found.values() for webhook in made.get("webhooks", ())]
    return {webhook["clientConfig"]["service"]["path"] for webhook in webhooks}


def _tokens(found: dict[str, Manifest]) -> list[str]:
    """Return the lines of the chart's Secret; all of its webhooks have the first in their paths."""
    lines = base64.b64decode(found["Secret"]["data"]["tokens"]).decode().splitlines()
    assert {f"/mutate/{lines[0]}", f"/validate/{lines[0]}"} == _paths(found)
    return lines


def test_helm_generates_one_token(helm: Callable[..., dict[str, Manifest]]) -> None:
    """An upgrade finds it, and makes another when that is demanded; without a cluster there is none."""
    server = "--dry-run=server"
    first = _tokens(helm(server))
    again = _tokens(helm(server))
    second = _tokens(helm(server, "--set=access.pathTokenGeneration=2"))
    kept = _tokens(helm(server, "--set=access.pathTokenGeneration=2"))
    given = _tokens(helm(server, f"--set=access.pathTokens={{{'g' * 40},{'h' * 40}}}"))
    without = helm()

    assert first == again
    assert second == kept
    assert second != first
    assert [1, 1] == [len(first), len(second)]
    assert ["g" * 40, "h" * 40] == given
    assert "Secret" not in without
    assert {"/mutate", "/validate"} == _paths(without)


def test_replicas_work_with_what_they_may(installed: Installation) -> None:
    """Nothing that a replica tried was forbidden."""
    logs = [running.log.read_text() for running in installed.replicas.values()]

    assert [] == [line for log in logs for line in log.splitlines() if "forbidden" in line.lower()]
    assert [True, True] == [
        json.loads(asked(port, "/readyz")[1])["status"] == "ok" for port in installed.replicas
    ]
