"""One workload of the cluster: its manifest, where its next pod would go and why, and its pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import orjson
import yaml

from planning.explain import json as explain_json
from planning.explain.explain import explain_object
from planning.explain.json import ExplainAnswer
from planning.simulation.rollout.rollout import is_rolled_out
from planning.simulation.rollout.running_pods import revision_label
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import shown_name, text_member
from policies.manifests.wire import Form, dumps
from policies.model.cluster_kinds import POD
from policies.model.pod_template import LAST_APPLIED
from policies.model.revisions import owner_note, owner_object
from policies.model.snapshot import kind_of
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import PlacementError, read_workload
from webhook.ui.bodies import ManifestBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ManifestProblem, ProblemsError, field_problems, read_manifest, request_problem

#: Members of metadata that no one edits: they change with every write.
_OF_SERVER = frozenset({"managedFields", "resourceVersion", "generation", "selfLink"})


class WorkloadPod(NamedTuple):
    """A pod of a workload."""

    name: str  #: Its name.
    node: str  #: Its node.
    revision: str  #: The value of the label that marks its revision; empty without one.
    ready: bool | None  #: Whether it is ready; null where that is not known.


class WorkloadDetail(NamedTuple):
    """One workload, or one Pod."""

    manifest: str  #: Its manifest, YAML.
    notes: Sequence[str]  #: What there is to know of the manifest, such as that it is made from a ReplicaSet.
    #: Where its next pod would go, and why; null if the API server would refuse it.
    explain: Annotated[orjson.Fragment | None, Form(ExplainAnswer | None)]
    problems: Sequence[ManifestProblem]  #: Why it would.
    pods: Sequence[WorkloadPod]  #: Its pods that are bound and not being deleted, by name.
    #: Whether it is of a kind whose rollout is simulated, so that an edited copy of it replaces its pods.
    rolled_out: bool
    in_cluster: bool  #: Whether the cluster has it; false for a manifest of a person's own.


class ExplanationText(NamedTuple):
    """Where the next pod of an object would go, JSON, or why that is not known."""

    answer: bytes | None
    problems: list[ManifestProblem]


class FoundObject(NamedTuple):
    """An object of the cluster, and what there is to know of it."""

    obj: Mapping[str, Any]
    notes: list[str]


def workload_detail(
    cluster: PageCluster, key: WorkloadRef, found: FoundObject, remote: ExplanationText | None = None
) -> bytes:
    """Return a workload of the cluster, or a Pod, with where its next pod would go.

    Args:
        cluster: The cluster.
        key: The workload.
        found: Its object.
        remote: Where its next pod would go, if that was found out elsewhere.
    """
    text = yaml.safe_dump(_shown(found.obj), sort_keys=False, allow_unicode=True, width=120)
    entry = read_manifest(text, cluster.context)
    explained, problems = _fragment(remote or _explained(cluster, key.namespace, entry))
    workload = read_workload(entry.value, cluster.context, namespace=key.namespace)
    pods, rolled_out = _pods(cluster, key, workload), is_rolled_out(workload)
    return dumps(WorkloadDetail(text, found.notes, explained, problems, pods, rolled_out, in_cluster=True))


def opened_manifest(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Return a manifest that the cluster does not have, as ``workload_detail`` returns a workload.

    Raises:
        ProblemsError: It is none, or the nodes are not known.
    """
    if cluster.remote is not None:
        text = "no nodes were read to place it on: start evenkeel ui with --cluster and a snapshot"
        raise ProblemsError([request_problem("manifest", text)])
    entry = read_manifest(body.manifest, cluster.context)
    explained, problems = _fragment(_explained(cluster, cluster.namespace, entry))
    # Nothing runs that it would replace.
    detail = WorkloadDetail(body.manifest, [], explained, problems, [], rolled_out=False, in_cluster=False)
    return dumps(detail)


def _explained(cluster: PageCluster, namespace: str, entry: ManifestObject) -> ExplanationText:
    context = cluster.context
    if kind_of(entry.value) == POD:
        # As if it were scheduled again: it is not in its own way.
        fork = cluster.index.fork(namespace)
        fork.remove(*POD, namespace, text_member(entry.value.get("metadata"), "name"))
        context = replace(context, cluster=fork)
    try:
        found = explain_object(entry.value, replace(cluster.state, context=context), namespace=namespace)
    except PlacementError as error:
        return ExplanationText(None, field_problems(error.errors, entry))
    return ExplanationText(explain_json.render(found), [])


def _fragment(found: ExplanationText) -> tuple[orjson.Fragment | None, list[ManifestProblem]]:
    return None if found.answer is None else orjson.Fragment(found.answer), found.problems


def find_object(cluster: PageCluster, key: WorkloadRef) -> FoundObject:
    """Return an object of the cluster.

    Raises:
        ProblemsError: There is none of that name.
        ClusterError: The live cluster does not answer.
    """
    if key.kind == POD[1]:
        return _find_pod(cluster, key)
    if cluster.fetch is not None and (fetched := cluster.fetch(key)) is not None:
        return FoundObject(fetched, [])
    found = cluster.objects.workloads.find(key)
    if found is None:
        return _find_pod_of(cluster, key)
    if found.kind.kind == key.kind:
        return FoundObject(found.obj, [])
    owner, kind = found.owner, None
    if owner is not None:
        kind = cluster.context.kind_of({"apiVersion": owner.api_version, "kind": owner.kind})
    if owner is None or kind is None:
        note = f"shows ReplicaSet {shown_name(found.name)}, since {key.kind} is of no known kind"
        return FoundObject(found.obj, [note])
    base = {"apiVersion": owner.api_version, "kind": owner.kind}
    made = owner_object(found.obj, base, kind, namespace=key.namespace, name=key.name)
    return FoundObject(made, [owner_note(key.kind, found.name)])


def _find_pod(cluster: PageCluster, key: WorkloadRef) -> FoundObject:
    waiting = cluster.objects.pending.find(key.namespace, key.name)
    if waiting is not None:
        pod: dict[str, Any] = orjson.loads(waiting.text)
        return FoundObject(pod, [])
    running = cluster.objects.running.find(key.namespace, key.name)
    if running is None:
        raise _missing(key)
    note = "shows what of the pod decides where it goes; it is evaluated as if it were scheduled again"
    return FoundObject(running.to_dict(key.name), [note])


def _find_pod_of(cluster: PageCluster, key: WorkloadRef) -> FoundObject:
    """Return a pod of a workload of which the cluster shows no more than its pods."""
    names = [name for name, _ in cluster.pods_of(key)] or cluster.pending_of(key)
    if not names:
        raise _missing(key)
    pod = _find_pod(cluster, key._replace(kind=POD[1], name=names[0]))
    note = (
        f"{key.kind} {shown_name(key.name)} was not read: all that is shown here is of its pod "
        f"{shown_name(names[0])}, evaluated as if it were scheduled again"
    )
    return FoundObject(pod.obj, [note])


def _missing(key: WorkloadRef) -> ProblemsError:
    text = f"the cluster has no {key.kind} {shown_name(key.name)} in namespace {shown_name(key.namespace)}"
    return ProblemsError([request_problem("name", text)], missing=True)


def _shown(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its status, and what only the API server writes."""
    metadata = {name: value for name, value in obj.get("metadata", {}).items() if name not in _OF_SERVER}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
        metadata = {name: value for name, value in metadata.items() if name != "annotations"}
        metadata |= {"annotations": kept} if kept else {}
    first = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    rest = {name: value for name, value in obj.items() if name not in {*first, "metadata", "status"}}
    return {**first, "metadata": metadata, **rest}


def _pods(cluster: PageCluster, key: WorkloadRef, workload: Workload) -> list[WorkloadPod]:
    """Return the pods of a workload: those that it selects, or that name it as their controller."""
    selector, label = workload.own_pods, revision_label(workload)
    if key.kind == POD[1]:
        return []
    if selector is None or workload.kind.is_pod:
        return [_pod(cluster, key, name, node, "") for name, node in cluster.pods_of(key)]
    return [
        _pod(cluster, key, pod.name, pod.node, "" if label is None else dict(pod.labels).get(label, ""))
        for pod in cluster.index.selected_pods(workload.namespace, selector)
    ]


def _pod(cluster: PageCluster, key: WorkloadRef, name: str, node: str, revision: str) -> WorkloadPod:
    facts = cluster.objects.known.facts(key.namespace, name)
    ready = None if facts is None else facts.ready
    return WorkloadPod(name, node, revision, ready)
