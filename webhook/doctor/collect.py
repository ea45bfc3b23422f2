"""Collects what the checks need, as far as the caller may read it. Its one write is a dry run.

Pods that were injected are counted, and the policies found that select those that were missed.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from certs.clocks import clock_problem
from certs.inject import CONFIGURATION_KINDS
from policies.config.context import AdmissionContext
from policies.config.default_constraints import giving_policy, reason_of_object
from policies.config.loader import builtin_names, load_policies
from policies.config.policy_resource import read_policy_resource
from policies.config.spread_policy import API_VERSION, BUILTIN_PREFIX, KIND, DefaultsMode
from policies.manifests.words import IN_SENTENCE
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.model.workload_kinds import POD_KIND
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from webhook.doctor.installed import RegisteredWebhook, ReplicaPod
from webhook.doctor.observations import (
    InjectionCounts,
    InstallationNames,
    Missing,
    MissingError,
    Object,
    Observation,
    Observations,
    Observed,
    PartlyInjected,
    ReplicaStatus,
    pod_labels,
)
from webhook.doctor.permissions import of_clients, of_replicas
from webhook.doctor.reader import BoundedApiServer, Reader, observe, probe, read_status, read_statuses
from webhook.kube.api_server import ApiError, ApiServer, kubernetes_version
from webhook.kube.list import Listing, selects_any
from webhook.kube.watched_resources import LABELED_OBJECTS, SPREAD_POLICIES, ListedResource
from webhook.rbac import api_service, proxied
from webhook.registration import configuration_path

#: Lists of objects that a webhook is sent.
_LABELED_OBJECTS: Final = (*LABELED_OBJECTS, "/apis/apps/v1/deployments")
#: Pods that run or will.
_PODS: Final = ListedResource("v1", "Pod", "/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed")
#: Controllers whose pods are all alike and are created again and again.
_KINDS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "CloneSet"})


def collect(
    api: ApiServer,
    names: InstallationNames,
    *,
    now: datetime,
    tool_version: str,
    timeout_s: float = math.inf,
) -> Observations:
    """Read everything.

    Args:
        api: The cluster, with the caller's credentials.
        names: The names of the installation.
        now: The current time, with a time zone.
        tool_version: The release of this program.
        timeout_s: Seconds for everything that the API server itself answers; the rest is missing then.

    Raises:
        ClusterError: The API server answers nothing, or does not accept the credentials.
    """
    bounded = BoundedApiServer(api, total_s=timeout_s)
    reader = Reader(bounded)
    deployments = f"/apis/apps/v1/namespaces/{names.namespace}/deployments"
    version = _version(bounded)
    skew = now - bounded.date if bounded.date else timedelta(0)
    service = observe(lambda: reader.get(f"{names.api_path}/services/{names.service}"))
    deployment = observe(lambda: reader.get(f"{deployments}/{names.service}"))
    replicas, statuses = _with_statuses(api, names, lambda: _replicas(reader, names, service, deployment))
    observed = Observations(
        names=names,
        now=now - skew if clock_problem(skew) else now,
        clock_skew=skew,
        tool_version=tool_version,
        kubernetes_version=version,
        webhooks=observe(
            lambda: {kind: _webhooks(reader, kind, names.webhooks) for kind in CONFIGURATION_KINDS}
        ),
        namespaces=observe(lambda: _namespaces(reader, "kube-system", names.namespace)),
        all_namespaces=observe(lambda: tuple(reader.list("/api/v1/namespaces"))),
        service=service,
        deployment=deployment,
        replicas=replicas,
        statuses=statuses,
    )
    observed = replace(observed, selected=observe(lambda: _selected(bounded, observed)))
    return _with_what_follows(observed, reader, bounded, api)


def _with_what_follows(
    observed: Observations, reader: Reader, bounded: BoundedApiServer, api: ApiServer
) -> Observations:
    """Return the observations with those that are made of them."""
    names = observed.names
    return replace(
        observed,
        probe=observe(lambda: probe(bounded, observed)),
        through_service=observe(lambda: _through_service(api, observed)),
        api=observe(lambda: _api(reader, api, names)),
        certificate=observe(lambda: _certificate(reader, observed)),
        permissions=observe(lambda: reader.permissions(observed.account, of_replicas(observed))),
        client_permissions=observe(lambda: reader.permissions(names.client, of_clients(observed))),
        injection=(injection := observe(lambda: count_injected(bounded))),
        selecting=observe(lambda: selecting_policies(reader, observed, injection.get())),
    )


def _version(api: ApiServer) -> Observation[KubernetesVersion]:
    """Return the release of the API server: one that does not answer this answers nothing."""
    try:
        return Observed(kubernetes_version(api))
    except ApiError as error:
        if not error.forbidden:
            raise
        return Missing(str(error))


def _with_statuses(
    api: ApiServer, names: InstallationNames, list_replicas: Callable[[], tuple[ReplicaPod, ...]]
) -> tuple[Observation[tuple[ReplicaPod, ...]], dict[str, ReplicaStatus]]:
    """Return the replicas, and what those that can be reached say of themselves."""
    replicas = observe(list_replicas)
    statuses = read_statuses(api, names, replicas.value if isinstance(replicas, Observed) else ())
    if any(status.unreachable for status in statuses.values()):
        # A replica may have ended since it was listed: its pod stays Ready until its kubelet notices.
        replicas = observe(list_replicas)
    return replicas, statuses


def _replicas(
    reader: Reader,
    names: InstallationNames,
    service: Observation[Object | None],
    deployment: Observation[Object | None],
) -> tuple[ReplicaPod, ...]:
    """Return the pods that the Service selects; where it does not select those of the Deployment, these."""
    labels = pod_labels(deployment.value) if isinstance(deployment, Observed) else {}
    selector = ((service.get() or {}).get("spec") or {}).get("selector") or labels
    if labels and not selector.items() <= labels.items():
        selector = labels
    if not selector:
        return ()
    return tuple(
        ReplicaPod(pod)
        for pod in reader.list(f"{names.api_path}/pods")
        if selector.items() <= (pod["metadata"].get("labels") or {}).items()
        and not pod["metadata"].get("deletionTimestamp")
    )


def _webhooks(reader: Reader, kind: str, name: str) -> tuple[RegisteredWebhook, ...] | None:
    configuration = reader.get(configuration_path(kind, name))
    if configuration is None:
        return None
    return tuple(
        RegisteredWebhook(kind=kind, configuration=name, position=position, fields=fields)
        for position, fields in enumerate(configuration.get("webhooks") or ())
    )


def _selected(api: ApiServer, observed: Observations) -> dict[str, bool]:
    """Return whether anything in the cluster has the labels that objectSelectors require."""
    selectors = {
        str(selector): selector
        for webhook in observed.all_webhooks()
        if not (selector := webhook.object_selector).empty
    }
    return {text: selects_any(api, _LABELED_OBJECTS, selector) for text, selector in selectors.items()}


def _namespaces(reader: Reader, *names: str) -> tuple[Object, ...]:
    return tuple(filter(None, (reader.get(f"/api/v1/namespaces/{name}") for name in dict.fromkeys(names))))


def _api(reader: Reader, api: ApiServer, names: InstallationNames) -> ReplicaStatus | None:
    """Return the status of a pod that answers ``/v1``; None if there is no Service of such pods."""
    if reader.get(f"{names.api_path}/services/{api_service(names.service)}") is None:
        return None
    return read_status(api, names, f"services/{proxied(names.service)}")


def _through_service(api: ApiServer, observed: Observations) -> ReplicaStatus:
    """Return the status that a replica reports through the port that the webhooks call."""
    observed.service_spec()
    port = observed.called_ports()[0]
    return read_status(api, observed.names, f"services/https:{observed.names.service}:{port}")


def _certificate(reader: Reader, observed: Observations) -> bytes:
    """Return the certificates of the Secret; its key is not kept."""
    secret = reader.get(f"{observed.names.api_path}/secrets/{observed.secret}") or {}
    return base64.b64decode((secret.get("data") or {}).get("tls.crt") or "")


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
