"""The routes of the page's API: what each is sent, what it answers, and what computes the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from planning.explain.json import ExplainAnswer
from planning.explain.score_answer import ScoreAnswer
from policies.config.form import prepare
from policies.manifests.wire import Received, dumps
from policies.model.workload_ref import WorkloadRef
from webhook.requests.frame import RequestError, read_request
from webhook.ui import bodies, editing, placing, recording, what_if
from webhook.ui.background_audit import AuditProgress
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import ClusterMap
from webhook.ui.lookups import FoundPods, NodeDetail, find_pods, node_detail
from webhook.ui.manifest import ProblemsError, field_problems, request_problem
from webhook.ui.pending import PendingAnswer, pending
from webhook.ui.readings import PageState, Readings, ReadingStatus
from webhook.ui.workload_detail import WorkloadDetail, find_object, opened_manifest, workload_detail

#: Computes an answer, JSON, of a cluster in a child process: a function of a module, or its ``partial``.
Work: TypeAlias = Callable[[PageCluster], bytes]
#: Computes something of a request's body, in a child process.
Compute: TypeAlias = Callable[[PageCluster, Any], bytes]
#: What the query of a request says.
Names: TypeAlias = Mapping[str, str]


class RemoteRoute(NamedTuple):
    """The route of ``/v1`` that answers where the cluster has only that."""

    path: str  #: Its path.
    request: Compute = placing.remote_request  #: Computes what it is sent.
    wrap: Callable[[bytes], bytes] = bytes  #: Returns what the page is sent, given its answer.


class PageRoute(NamedTuple):
    """A route."""

    method: str  #: The method.
    path: str  #: The path.
    answer: type  #: The type of the answer.
    #: Returns what computes an answer in a child process, or the answer itself where that takes no longer.
    compute: Callable[[PageState, Names, bytes], Work | bytes]
    body: type[Received] | None = None  #: The type of the request's body; None without one.
    remote: RemoteRoute | None = None  #: What answers in its place, where the cluster has only that.


def _cluster(state: PageState, _names: Names, _body: bytes) -> bytes:
    """Return where every pod of the cluster is."""
    return state.map


def _reading(state: PageState, _names: Names, _body: bytes) -> bytes:
    """Return which reading of the cluster is shown, and what changed since."""
    return dumps(_readings(state).status())


def _refresh(state: PageState, _names: Names, _body: bytes) -> bytes:
    """Begin to read the cluster again."""
    _readings(state).refresh()
    return _reading(state, _names, _body)


def _readings(state: PageState) -> Readings:
    if state.readings is None:
        raise ValueError("the page is served")
    return state.readings


def _audit(state: PageState, names: Names, _body: bytes) -> bytes:
    """Return the audit as far as it is, from a number of workloads on."""
    after = names.get("after", "0")
    if not (after.isascii() and after.isdecimal() and len(after) <= 9):
        raise ProblemsError([request_problem("after", "must be a number: what the last answer had as next")])
    return dumps(state.audit.progress(int(after)))


def _workload(state: PageState, names: Names, _body: bytes) -> Work:
    """Return a workload of the cluster, or a Pod, with where its next pod would go."""
    cluster = state.cluster
    namespace, kind, name = (_named(names, each) for each in ("namespace", "kind", "name"))
    key = WorkloadRef(namespace, kind, name)
    # A live cluster is read here: a child process has no connections.
    found = find_object(cluster, key)
    explained = None if cluster.remote is None else placing.explain_remotely(cluster, found.obj)
    return partial(workload_detail, key=key, found=found, remote=explained)


def _node(state: PageState, names: Names, _body: bytes) -> bytes:
    """Return a node of the cluster."""
    return node_detail(state.cluster, _named(names, "name"))


def _pods(state: PageState, names: Names, _body: bytes) -> bytes:
    """Return the pods that a search finds."""
    return find_pods(state.cluster, _named(names, "name"))


def _named(names: Names, name: str) -> str:
    """Return the name in a request's query, since no name that it may have ends a part of a path.

    Raises:
        ProblemsError: It does not.
    """
    if not (value := names.get(name)):
        raise ProblemsError([request_problem(name, "is empty")])
    return value


def _pending(_state: PageState, _names: Names, _body: bytes) -> Work:
    """Return the pods without a node."""
    return pending


def _answer(cluster: PageCluster, *, form: type[Received], compute: Compute, body: bytes) -> bytes:
    try:
        request: Received = read_request(form, body)
    except RequestError as error:
        problems = field_problems(error.errors) or [request_problem("", error.message)]
        raise ProblemsError(problems) from error
    return compute(cluster, request)


def _post(
    path: str, form: type[Received], answer: type, compute: Compute, remote: RemoteRoute | None = None
) -> PageRoute:
    """Return a route with a body.

    Args:
        path: The path.
        form: The type of the body.
        answer: The type of the answer.
        compute: Computes the answer.
        remote: The route of ``/v1`` that answers the same; None where there is none.
    """

    def work(state: PageState, _names: Names, body: bytes) -> Work:
        used = compute if remote is None or state.cluster.remote is None else remote.request
        return partial(_answer, form=form, compute=used, body=body)

    return PageRoute("POST", path, answer, work, form, remote)


ROUTES: Final = (
    PageRoute("GET", "/api/cluster", ClusterMap, _cluster),
    PageRoute("GET", "/api/reading", ReadingStatus, _reading),
    PageRoute("POST", "/api/refresh", ReadingStatus, _refresh),
    PageRoute("GET", "/api/workloads", AuditProgress, _audit),
    PageRoute("GET", "/api/workload", WorkloadDetail, _workload),
    PageRoute("GET", "/api/node", NodeDetail, _node),
    PageRoute("GET", "/api/pods", FoundPods, _pods),
    PageRoute("GET", "/api/pending", PendingAnswer, _pending),
    _post("/api/open", bodies.ManifestBody, WorkloadDetail, opened_manifest),
    _post("/api/check", bodies.ManifestBody, editing.CheckAnswer, editing.check),
    _post("/api/explain", bodies.ManifestBody, ExplainAnswer, placing.explain, RemoteRoute("/v1/explain")),
    _post("/api/score", bodies.ManifestBody, ScoreAnswer, placing.score, RemoteRoute("/v1/score")),
    _post("/api/what-if", what_if.WhatIfBody, what_if.PlayedWhatIf, what_if.what_if,
          RemoteRoute("/v1/what-if", what_if.remote_what_if, what_if.remote_answer)),
    _post("/api/shown", bodies.ShownBody, recording.SavedReport, recording.shown),
    _post("/api/suggest", bodies.SuggestBody, editing.EditedManifest, editing.suggest),
    _post("/api/patch", bodies.PatchBody, editing.PatchAnswer, editing.patch),
)  # fmt: skip


def prepare_answers() -> None:
    """Read what bodies are checked by, once and not in every child."""
    for route in ROUTES:
        if route.body is not None:
            prepare(route.body)
