"""A healthy installation as facts, and as the objects of an API server; tests change what they are about."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from certs.authority import create_authority
from certs.pair import Pair
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.version import KubernetesVersion
from policies.model.workload import KNOWN_KINDS
from tests.certs.builders import AUTHORITY, DAY, NOW, a_pair
from tests.webhook.loopback import QuietHandler, listening
from webhook.doctor.facts import (
    MUTATING,
    VALIDATING,
    Ask,
    Budget,
    Configuration,
    Endpoints,
    Facts,
    Injection,
    Known,
    Names,
    Namespace,
    Place,
    Replica,
    Resource,
    Rule,
    ServicePort,
    Voice,
    Webhook,
    Workload,
)
from webhook.doctor.finding import Check, Status
from webhook.doctor.permissions import (
    CLIENT_EXCESSIVE,
    CLIENT_NEEDED,
    EXCESSIVE,
    REVIEWING,
    following,
    vouching,
)
from webhook.doctor.registration import resource_of

NAMES = Names()
LABELS = {"app.kubernetes.io/name": "evenkeel"}
NAME_LABEL = "kubernetes.io/metadata.name"
#: Excludes by name, as the shipped manifests do.
EXCLUDING = LabelSelector(
    match_expressions=(Requirement(NAME_LABEL, Operator.NOT_IN, ("kube-system", "evenkeel")),)
)
SERVING = a_pair(NAMES.host, lifetime=365 * DAY)
#: An authority that signed nothing.
STRANGER = create_authority(NOW)
GAUGES = {
    "evenkeel_cluster_synced": 1.0,
    "evenkeel_cluster_age_seconds": 2.0,
    "evenkeel_certificate_expiry_timestamp_seconds": SERVING.not_after.timestamp(),
}


def a_namespace(name: str, *, labeled: bool = True, exempt: bool = False) -> Namespace:
    return Namespace(name, {NAME_LABEL: name} if labeled else {}, exempt=exempt)


def a_webhook(**changes: Any) -> Webhook:
    """Return the webhook that injects; ``kind=VALIDATING`` the one that refuses."""
    mutating = changes.get("kind", MUTATING) == MUTATING
    kinds = [
        kind for kind in KNOWN_KINDS if not mutating or (kind.spreads and (kind.is_pod or kind.selector))
    ]
    webhook = Webhook(
        kind=MUTATING,
        configuration="evenkeel",
        position=0,
        name=f"{'mutate' if mutating else 'validate'}.evenkeel.dev",
        service=("evenkeel", "evenkeel"),
        ca_bundle=AUTHORITY.certificate_pem,
        failure_policy="Ignore",
        match_policy="Equivalent",
        reinvocation_policy="IfNeeded",
        side_effects="None",
        timeout_s=3,
        namespace_selector=EXCLUDING,
        object_selector=LabelSelector(),
        rules=tuple(
            Rule(
                operations=("CREATE",) if mutating else ("CREATE", "UPDATE"),
                groups=(resource_of(kind).group,),
                versions=("v1",),
                resources=(resource_of(kind).plural,),
            )
            for kind in kinds
        ),
    )
    return replace(webhook, **changes)


def configurations(*webhooks: Webhook, name: str = "evenkeel") -> Known[tuple[Configuration, ...]]:
    """Return a configuration for each webhook."""
    return Known(tuple(Configuration(webhook.kind, name, (webhook,)) for webhook in webhooks))


def ours(**changes: Any) -> Known[tuple[Configuration, ...]]:
    """Return both of our configurations, both webhooks changed alike."""
    return configurations(a_webhook(**changes), a_webhook(**{"kind": VALIDATING, **changes}))


def a_replica(name: str = "evenkeel-1", **changes: Any) -> Replica:
    replica = Replica(
        name=name,
        node=f"node-{name[-1]}",
        labels={**LABELS, "pod-template-hash": "x"},
        ready=True,
        image="evenkeel:0.1.0",
        image_id="sha256:aa",
        port=8443,
        named_ports={"https": 8443},
        service_account="evenkeel",
        settings={"live": "true", "cert-secret": "evenkeel-tls"},
    )
    return replace(replica, **changes)


def a_voice(**changes: Any) -> Voice:
    return replace(Voice(reasons=Known(()), version=Known("0.1.0"), metrics=Known(GAUGES)), **changes)


def a_chain(pair: Pair) -> Known[bytes | None]:
    return Known(pair.certificate_pem)


def healthy(**changes: Any) -> Facts:
    """Return the facts of an installation without any problem."""
    facts = Facts(
        names=NAMES,
        now=NOW + timedelta(hours=1),
        skew=timedelta(0),
        tool_version="0.1.0",
        version=Known(KubernetesVersion(1, 36)),
        ours=ours(),
        others=Known(()),
        namespaces=Known((a_namespace("kube-system"), a_namespace("evenkeel"), a_namespace("shop"))),
        protected=Known((a_namespace("kube-system"), a_namespace("evenkeel"))),
        served=Known(
            {Resource("", "pods"): frozenset({"v1"}), Resource("apps", "deployments"): frozenset({"v1"})}
        ),
        service=Known(value=True),
        service_ports=Known((ServicePort(443, "https"),)),
        through_service=Known(""),
        endpoints=Known(Endpoints(2, 0)),
        workload=Known(Workload(name="evenkeel", replicas=2, labels=LABELS)),
        replicas=Known((a_replica("evenkeel-1"), a_replica("evenkeel-2"))),
        voices={"evenkeel-1": a_voice(), "evenkeel-2": a_voice()},
        budgets=Known(
            (
                Budget(
                    "evenkeel",
                    LabelSelector.parse({"matchLabels": LABELS}),
                    1,
                    "maxUnavailable 1",
                    blocking=False,
                ),
            )
        ),
        places=Known((Place("node-1", "a"), Place("node-2", "b"), Place("node-3", "c"))),
        secret="evenkeel-tls",
        certificate=a_chain(SERVING),
        account="evenkeel",
        access=Known({**dict.fromkeys(following(), True), **dict.fromkeys(EXCESSIVE, False)}),
        client_access=Known({**dict.fromkeys(CLIENT_NEEDED, True), **dict.fromkeys(CLIENT_EXCESSIVE, False)}),
        injection=Known(Injection((), 12)),
    )
    return replace(facts, **changes)


def statuses(check: Check, facts: Facts) -> list[Status]:
    """Return how a check comes out."""
    return [verdict.status for verdict in check.ask(facts)]


def evidence(check: Check, facts: Facts) -> str:
    """Return what a check says besides that all is well."""
    return "\n".join(
        f"{verdict.status}: {verdict.evidence}"
        for verdict in check.ask(facts)
        if verdict.status is not Status.OK
    )


def remedies(check: Check, facts: Facts) -> list[str]:
    """Return what a check says is to be done."""
    return [verdict.remedy for verdict in check.ask(facts) if verdict.remedy]


def checks_of(checks: tuple[Check, ...]) -> dict[str, Check]:
    return {check.id: check for check in checks}


Object = dict[str, Any]


@dataclass
class Cluster:
    """The objects of an API server by the paths under which it has them; a list is one of ``items``."""

    objects: dict[str, Object] = field(default_factory=dict)
    #: Whether a method on a path is forbidden.
    forbidden: Callable[[str, str], bool] = lambda _method, _path: False
    #: Whether a user may do what the attributes of a review say.
    allows: Callable[[str, Mapping[str, str]], bool] = lambda _user, _attributes: True
    #: Whether a path is never answered.
    hangs: Callable[[str], bool] = lambda _path: False
    ended: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def put(self, path: str, **obj: Any) -> None:
        """Add an object, also to the list above it."""
        collection, _, name = path.rpartition("/")
        obj = {"metadata": {"name": name}, **obj}
        self.objects[path] = obj
        self.objects.setdefault(collection, {"metadata": {"resourceVersion": "1"}, "items": []})[
            "items"
        ].append(obj)

    def empty(self, path: str) -> None:
        """Serve a list without objects."""
        self.objects[path] = {"metadata": {"resourceVersion": "1"}, "items": []}


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes; without this the second waits 40 ms for the first to be acknowledged.
    disable_nagle_algorithm = True
    cluster: Cluster

    def do_GET(self) -> None:  # noqa: N802  # as the standard library calls it
        self._serve("GET")

    def do_POST(self) -> None:  # noqa: N802  # as the standard library calls it
        self._serve("POST")

    def _serve(self, method: str) -> None:
        path, cluster = urlsplit(self.path).path, self.cluster
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        cluster.asked.append(f"{method} {path}")
        cluster.headers.append(dict(self.headers.items()))
        if cluster.hangs(path):
            cluster.ended.wait(10)
            self.close_connection = True
            return None
        if cluster.forbidden(method, path):
            return self._answer(
                403, {"kind": "Status", "message": f"{path} is forbidden", "reason": "Forbidden"}
            )
        if method == "POST" and path.endswith("subjectaccessreviews"):
            spec = json.loads(body)["spec"]
            attributes = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
            allowed = cluster.allows(spec["user"], attributes)
            return self._answer(201, {"status": {"allowed": allowed}})
        found = cluster.objects.get(path)
        if found is None:
            return self._answer(404, {"kind": "Status", "message": f"{path} not found", "reason": "NotFound"})
        if found.get("silent"):
            self.close_connection = True
            return None
        page = found.get("page")
        return self._answer(found.get("status_code", 200), page.encode() if isinstance(page, str) else found)

    def _answer(self, status: int, body: Object | bytes) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answer(status, text)


@contextmanager
def serving(cluster: Cluster) -> Iterator[str]:
    """Serve a cluster for as long as the block runs; yield its URL."""
    handler = type("Bound", (_Handler,), {"cluster": cluster})
    with listening(handler) as url:
        try:
            yield url
        finally:
            cluster.ended.set()


def a_configuration(kind: str) -> Object:
    """Return a webhook configuration as the API has it."""
    webhook = a_webhook(kind=kind)
    return {
        "webhooks": [
            {
                "name": webhook.name,
                "clientConfig": {
                    "service": {"namespace": "evenkeel", "name": "evenkeel", "path": "/x", "port": 443},
                    "caBundle": base64.b64encode(webhook.ca_bundle).decode(),
                },
                "failurePolicy": "Ignore",
                "matchPolicy": "Equivalent",
                "reinvocationPolicy": "IfNeeded",
                "sideEffects": "None",
                "timeoutSeconds": 3,
                "namespaceSelector": EXCLUDING.to_dict(),
                "objectSelector": {},
                "rules": [
                    {
                        "operations": list(rule.operations),
                        "apiGroups": list(rule.groups),
                        "apiVersions": list(rule.versions),
                        "resources": list(rule.resources),
                    }
                    for rule in webhook.rules
                ],
                "matchConditions": [{"name": "c", "expression": "true"}],
            }
        ]
    }


def a_pod_object(name: str) -> Object:
    """Return a replica as the API has it."""
    return {
        "metadata": {"name": name, "namespace": "evenkeel", "labels": {**LABELS, "pod-template-hash": "x"}},
        "spec": {
            "nodeName": f"node-{name[-1]}",
            "serviceAccountName": "evenkeel",
            "containers": [
                {"name": "proxy", "image": "proxy:1"},
                {
                    "name": "evenkeel",
                    "image": "evenkeel:0.1.0",
                    "args": ["serve", "--live", "--cert-secret=evenkeel-tls"],
                    "ports": [{"name": "https", "containerPort": 8443}],
                },
            ],
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "evenkeel", "imageID": "sha256:aa", "restartCount": 1}],
        },
    }


def a_cluster() -> Cluster:
    """Return a healthy installation behind an API server of 1.36."""
    cluster = Cluster()
    registration = "/apis/admissionregistration.k8s.io/v1"
    home = "/api/v1/namespaces/evenkeel"
    cluster.objects["/version"] = {"gitVersion": "v1.36.2"}
    cluster.put(f"{registration}/mutatingwebhookconfigurations/evenkeel", **a_configuration(MUTATING))
    cluster.put(f"{registration}/validatingwebhookconfigurations/evenkeel", **a_configuration(VALIDATING))
    for name in ("kube-system", "evenkeel", "shop"):
        cluster.put(f"/api/v1/namespaces/{name}", metadata={"name": name, "labels": {NAME_LABEL: name}})
    cluster.objects["/api/v1"] = {
        "resources": [{"name": "pods", "kind": "Pod"}, {"name": "pods/log", "kind": "Pod"}]
    }
    cluster.objects["/apis/apps"] = {"versions": [{"version": "v1", "groupVersion": "apps/v1"}]}
    cluster.objects["/apis/apps/v1"] = {"resources": [{"name": "deployments", "kind": "Deployment"}]}
    cluster.put(
        f"{home}/services/evenkeel",
        spec={"selector": LABELS, "ports": [{"name": "https", "port": 443, "targetPort": "https"}]},
    )
    cluster.objects[f"{home}/services/https:evenkeel:443/proxy/readyz"] = {"status": "ok"}
    cluster.put(
        "/apis/discovery.k8s.io/v1/namespaces/evenkeel/endpointslices/evenkeel-a",
        metadata={"name": "evenkeel-a", "labels": {"kubernetes.io/service-name": "evenkeel"}},
        endpoints=[{"conditions": {"ready": True}}, {"conditions": {}}],
    )
    cluster.put(
        "/apis/apps/v1/namespaces/evenkeel/deployments/evenkeel",
        spec={"replicas": 2, "template": {"metadata": {"labels": LABELS}, "spec": {}}},
    )
    for name in ("evenkeel-1", "evenkeel-2"):
        cluster.put(f"{home}/pods/{name}", **a_pod_object(name))
        proxy = f"{home}/pods/https:{name}:8443/proxy"
        cluster.objects[f"{proxy}/readyz"] = {"status": "ok"}
        lines = [f"{gauge} {value}" for gauge, value in GAUGES.items()]
        page = "\n".join([*lines, 'evenkeel_build_info{version="0.1.0"} 1.0', ""])
        cluster.objects[f"{proxy}/metrics"] = {"page": page}
        cluster.put(
            f"/api/v1/nodes/node-{name[-1]}",
            metadata={"name": f"node-{name[-1]}", "labels": {"topology.kubernetes.io/zone": name[-1]}},
        )
    cluster.objects["/api/v1/pods"] = cluster.objects[f"{home}/pods"]
    cluster.put(
        "/apis/policy/v1/namespaces/evenkeel/poddisruptionbudgets/evenkeel",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
        status={"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1},
    )
    tls = base64.b64encode(SERVING.certificate_pem).decode()
    cluster.put(f"{home}/secrets/evenkeel-tls", data={"tls.crt": tls})
    account = "system:serviceaccount:evenkeel:evenkeel"
    may = {
        account: {*following(), *REVIEWING, *vouching(NAMES, "evenkeel-tls", "evenkeel")},
        f"{account}-client": {*CLIENT_NEEDED},
    }
    cluster.allows = lambda user, attributes: Ask(**attributes) in may[user]
    return cluster
