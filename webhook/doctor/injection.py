"""Counts the pods that were injected, and finds the policies that select those that were missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.config.default_constraints import giving_policy, reason_of_object
from policies.config.loader import builtin_names, load_policies
from policies.config.policy_resource import read_policy_resource
from policies.config.spread_policy import API_VERSION, BUILTIN_PREFIX, KIND, DefaultsMode
from policies.manifests.words import IN_SENTENCE
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload import Workload
from policies.model.workload_kinds import POD_KIND
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from webhook.doctor.observations import InjectionCounts, MissingError, Observations, PartlyInjected
from webhook.doctor.reader import Reader
from webhook.kube.api_server import ApiServer
from webhook.kube.list import Listing
from webhook.kube.watched_resources import SPREAD_POLICIES, ListedResource

#: Pods that run or will.
_PODS: Final = ListedResource("v1", "Pod", "/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed")
#: Controllers whose pods are all alike and are created again and again.
_KINDS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "CloneSet"})


def count_injected(api: ApiServer) -> InjectionCounts:
    """Count every pod of the cluster.

    Raises:
        ClusterError: The pods cannot be listed.
    """
    listing, pods, counts = Listing(api, _PODS), 0, Counter[tuple[WorkloadRef, bool]]()
    missed_pods: dict[WorkloadRef, str] = {}
    while page := listing.next():
        if page.first:
            # A list that begins again repeats itself.
            pods, counts = 0, Counter()
        pods += len(page.items)
        for controller, pod, injected in _controlled(page.items):
            counts[controller, injected] += 1
            if not injected:
                missed_pods[controller] = pod
    partly = [
        PartlyInjected(controller, missed, counts[controller, True], missed_pods[controller])
        for (controller, injected), missed in counts.items()
        if not injected and counts[controller, True]
    ]
    return InjectionCounts(pods, tuple(sorted(partly, key=lambda entry: (-entry.missed, entry.controller))))


def _controlled(pods: Iterable[Mapping[str, Any]]) -> Iterator[tuple[WorkloadRef, str, bool]]:
    """Yield controller and name of each pod that has one and does not terminate, and if it was injected."""
    for pod in pods:
        metadata = pod["metadata"]
        owners = () if metadata.get("deletionTimestamp") else metadata.get("ownerReferences") or ()
        for owner in owners:
            if owner.get("controller") and owner["kind"] in _KINDS:
                injected = INJECTED_ANNOTATION in (metadata.get("annotations") or {})
                controller = WorkloadRef(metadata["namespace"], owner["kind"], owner["name"])
                yield controller, metadata["name"], injected


def selecting_policies(
    reader: Reader, observed: Observations, counts: InjectionCounts
) -> dict[WorkloadRef, str]:
    """Return the policies that give defaults to a missed pod now, of the controllers that are reported.

    These are policies of the cluster and built-in ones: what files of replicas hold is not read.

    Raises:
        ClusterError: The policies or a pod cannot be read.
        MissingError: The namespaces could not be read.
    """
    if not counts.partly:
        return {}
    replica = observed.first_replica
    files = replica.policies if replica else ()
    known = {f"{BUILTIN_PREFIX}{name}" for name in builtin_names()}
    policies = list(load_policies((name for name in files if name in known), str.encode))
    resources = (
        read_policy_resource(document, None, has_scheduler_config=True)
        for document in reader.list(SPREAD_POLICIES.path, api_version=API_VERSION, kind=KIND)
    )
    policies += (each.accepted.policy for each in resources if each.accepted)
    cluster = ClusterIndex()
    for namespace in observed.all_namespaces.get():
        cluster.apply({**namespace, "apiVersion": "v1", "kind": "Namespace"})
    given = replica.settings.get("defaults", "").lower() if replica else DefaultsMode.POLICY
    mode = next((mode for mode in DefaultsMode if mode == given), DefaultsMode.OFF)
    context = AdmissionContext(policies=tuple(policies), defaults=mode, cluster=cluster)
    found: dict[WorkloadRef, str] = {}
    for controller, _, _, name in counts.partly[:IN_SENTENCE]:
        pod = reader.get(f"/api/v1/namespaces/{controller.namespace}/pods/{name}")
        if pod is None:
            raise MissingError(f"pod {controller.namespace}/{name} was deleted meanwhile")
        workload = Workload.read(pod, POD_KIND, controller.namespace, release=context.release)
        policy = giving_policy(workload, context.policies_for(workload), context)
        if policy and not reason_of_object(workload):
            found[controller] = policy.name
    return found
