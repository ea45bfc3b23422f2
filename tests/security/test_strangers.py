"""Who does not prove to be the API server learns nothing of the cluster, and evades nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.config.context import STRANGER, AdmissionContext
from tests.builders import a_constraint, a_pod, a_policy, a_replica_set, a_workload
from tests.policies.config.contexts import a_context, defaults
from tests.security.combinations import an_object, drawn
from tests.security.reviewing import cluster_objects, review_of
from tests.webhook.reviewing import a_review_request
from tests.webhook.running import Server, ask, serving
from webhook.admission.reply import Reply
from webhook.admission.respond import respond
from webhook.admission.review import Phase

#: Objects that are reviewed in both phases. Arbitrary.
TRIES = 60
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}
#: What denies in the namespace, by its labels.
BY_LABELS = a_policy(
    "labels",
    scope={"namespaceSelector": {"matchLabels": {"team": "a"}}},
    enforcement="deny",
    defaults=defaults(at="both"),
    topology={"domains": {"topology.kubernetes.io/zone": ["zone-of-the-policy"]}},
)


def two_clusters() -> list[AdmissionContext]:
    """Return contexts with the same policies and namespaces; all else of their clusters differs."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    small = [*cluster_objects(3), service, a_replica_set(a_workload(), "5dcb")]
    return [
        a_context(BY_LABELS, cluster=[NAMESPACE, *objects], live=True)
        for objects in (small, list(cluster_objects(40)))
    ]


def answered(body: bytes, phase: Phase, context: AdmissionContext, *, known: bool) -> dict[str, Any]:
    """Return the response of a review, for the API server or a stranger; nothing is waited for."""
    request = a_review_request(body, phase)._replace(from_api_server=known)
    reply = respond(request, context)
    assert isinstance(reply, Reply)
    found: dict[str, Any] = json.loads(reply.body)["response"]
    return found


def bodies() -> Iterator[bytes]:
    """Yield reviews of many objects, ordinary and not, and of the first pod of a ReplicaSet."""
    source = random.Random(1)  # a search, no secret
    yield review_of(a_pod(labels={"app": "web"}, owner=("apps/v1", "ReplicaSet", "web-5dcb")))
    yield review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}))
    for _ in range(TRIES):
        combination = drawn(source, busy=0.15)
        obj = an_object(combination)
        yield review_of(obj, old=obj if combination["update"] else None)


def test_answers_do_not_depend_on_the_cluster() -> None:
    """A stranger reads the same about any cluster; the API server does not, or this would show nothing."""
    clusters = two_clusters()
    differing = 0
    for body in bodies():
        for phase in Phase:
            told = [answered(body, phase, context, known=False) for context in clusters]
            known = [answered(body, phase, context, known=True) for context in clusters]
            differing += known[0] != known[1]

            assert told[0] == told[1]
            assert "zone-of-the-policy" not in json.dumps(told[0])

    assert differing > TRIES // 4


BROKEN = review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}))


@pytest.mark.parametrize("known", [True, False], ids=["API server", "stranger"])
def test_policies_hold_for_strangers(*, known: bool) -> None:
    """An object's own errors are denied and workloads injected into, also by labels of namespaces."""
    context = two_clusters()[0]
    denied = answered(BROKEN, Phase.VALIDATE, context, known=known)
    injected = answered(review_of(a_workload()), Phase.MUTATE, context, known=known)

    assert not denied["allowed"]
    assert "maxSkew: Invalid value: 0" in denied["status"]["message"]
    assert "patch" in injected
    assert (STRANGER == denied["auditAnnotations"].get("withheld")) is not known


@pytest.mark.parametrize("known", [True, False], ids=["API server", "stranger"])
def test_a_namespace_that_opts_out(*, known: bool) -> None:
    """Who is taken for a stranger by mistake changes nothing that its owner does not want."""
    metadata = {"name": "shop", "labels": {"team": "a"}, "annotations": {"evenkeel.dev/inject": "false"}}
    context = a_context(BY_LABELS, cluster=[{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])

    assert "patch" not in answered(review_of(a_workload()), Phase.MUTATE, context, known=known)


def test_what_cannot_be_read_is_denied_for_strangers() -> None:
    """Nor does a review that is too deep get past a policy."""
    body = BROKEN[: BROKEN.index(b'"spec"')] + b'"spec":' + b"[" * 100_000

    assert not answered(body, Phase.VALIDATE, two_clusters()[0], known=False)["allowed"]


#: The tokens of the server, and another.
TOKEN, OTHER, WRONG = "t0" * 20, "0ther" * 8, "wr0ng" * 8
DEMO = Path("webhook/demo")
#: A Deployment whose next pod fits nowhere.
UNFIT = (DEMO / "reviews/deployment-during-a-drain.validate.json").read_bytes()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a cluster and tokens."""
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "tokens").write_text(f"{TOKEN}\n{OTHER}\n")
    options = [f"--path-tokens={folder / 'tokens'}", f"--cluster={DEMO / 'cluster.yaml'}"]
    with serving(folder, *options, "--defaults=soft", "--log-level=debug") as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [pytest.param(UNFIT, id="a small one"), pytest.param(UNFIT + b" " * 70_000, id="a large one")]
)
@pytest.mark.parametrize(
    ("path", "knows"),
    [
        pytest.param(f"/validate/{TOKEN}", True, id="the token"),
        pytest.param(f"/validate/{TOKEN}?timeout=10s", True, id="the token, as an API server calls"),
        pytest.param("/validate", False, id="none"),
        pytest.param("/validate/", False, id="an empty one"),
        pytest.param(f"/validate/{OTHER}", True, id="the other one"),
        pytest.param(f"/validate/{WRONG}", False, id="a wrong one"),
        pytest.param(f"/validate/{TOKEN}x", False, id="one more character"),
        pytest.param(f"/validate/{TOKEN}/x", False, id="one more part"),
    ],
)
def test_paths(server: Server, path: str, body: bytes, *, knows: bool) -> None:
    """Whatever follows the route, the review is answered; only after the token with the cluster."""
    answer = server.ask("POST", path, body=body, content_type="application/json")
    text = answer.body.decode()

    assert 200 == answer.status
    assert knows is ("zone-c" in text)
    assert knows is (STRANGER not in text)


@pytest.mark.slow
def test_no_output_has_the_token(server: Server) -> None:
    """Whatever is asked for with it, however broken: no answer, page, metric or line of the log has it."""
    answers = []
    for path in (
        f"/validate/{TOKEN}", f"/mutate/{TOKEN}", f"/mutate/{TOKEN}/", f"/validate/x/{TOKEN}",
        f"/Validate/{TOKEN}", f"//validate/{TOKEN}", f"/{TOKEN}", f"/metrics/{TOKEN}", f"/v1/score/{TOKEN}",
        f"/readyz/{TOKEN}", f"/livez?{TOKEN}", f"/v1/score?{TOKEN}", f"/validate?{TOKEN}",
    ):  # fmt: skip
        for method, body, headers in (
            ("POST", UNFIT, {"content_type": "application/json"}),
            ("POST", b"{", {"content_type": "application/json"}),
            ("POST", b"\xff" * 70_000, {"content_type": "application/json"}),
            ("POST", UNFIT, {"content_type": "text/plain"}),
            ("POST", UNFIT, {"content_type": "application/json", "content_length": "x"}),
            ("GET", None, {}),
            ("BREW", None, {}),
        ):
            connection = server.connect()
            answers.append(ask(connection, method, path, body=body, **headers))
            connection.close()
    answers += [server.ask("GET", path) for path in ("/metrics", "/readyz", "/openapi.json")]
    server.ask("POST", f"/validate/{TOKEN}", body=BROKEN, content_type="application/json")
    texts = [f"{answer.headers}{answer.body.decode()}" for answer in answers]
    process = Path(f"/proc/{server.process.pid}")
    texts += [server.log.read_text(), (process / "cmdline").read_text(), (process / "environ").read_text()]

    assert {200, 400, 404, 405, 415} <= {answer.status for answer in answers}
    assert [] == [text for text in texts if TOKEN in text]
    assert server.lines("request_refused")
