"""A healthy installation as an API server in memory has it; tests change what they are about."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

import orjson

from certs.ca import create_ca
from certs.inject import CONFIGURATION_KINDS
from tests.certs.builders import CA, DAY, NOW, a_pair
from tests.deploy.manifests import base
from webhook.doctor.collect import collect
from webhook.doctor.diagnosis import Diagnosis, diagnose
from webhook.doctor.observations import CheckResult, CheckStatus, InstallationNames, Observations
from webhook.doctor.permissions import CERT_SECRET, CLIENT, LIVE, POLICY_STATUS
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch
from webhook.registration import OPERATIONS, probe_answer

Object = dict[str, Any]
Change = Callable[["Cluster"], object]

MUTATING, VALIDATING = CONFIGURATION_KINDS
NAMES = InstallationNames()
LABELS = {"app.kubernetes.io/name": "evenkeel"}
SERVING = a_pair(NAMES.host, lifetime=365 * DAY)
#: A CA that signed nothing.
STRANGER = create_ca(NOW)

CORE = "/api/v1/namespaces/evenkeel"
SERVICE = f"{CORE}/services/evenkeel"
THROUGH_SERVICE = f"{CORE}/services/https:evenkeel:443/proxy/readyz"
SECRET = f"{CORE}/secrets/evenkeel-tls"
DEPLOYMENT = "/apis/apps/v1/namespaces/evenkeel/deployments/evenkeel"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = {kind: f"{REGISTRATION}/{kind.lower()}s/evenkeel" for kind in CONFIGURATION_KINDS}


class Cluster(ApiServer):
    """Objects by their paths; a list is of the objects below its path."""

    url, namespace = "https://cluster:6443", "default"

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {"/version": {"gitVersion": "v1.36.2"}}
        #: Answers that are no objects: a status and a body, or None where the connection breaks off.
        self.answers: dict[str, tuple[int, Object | str] | None] = {}
        self.forbidden: Callable[[str], bool] = lambda _path: False
        self.hangs: Callable[[str], bool] = lambda _path: False
        #: The rights of accounts: an account's name and a permission.
        self.granted: set[tuple[str, str]] = set()
        self.now = NOW + timedelta(hours=1)
        self.requested: list[str] = []
        self.posted: set[str] = set()
        #: The paths of the webhooks that answer a probe.
        self.answering = set(OPERATIONS)

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
    ) -> Answer:
        """Answer as an API server does."""
        self.requested.append(path)
        if method != "GET":
            self.posted.add(path)
        if self.hangs(path):
            raise UnreachableError(f"{self.url}: no answer within {timeout_s:.0f} s")
        status, found = self._answer(path, body, (params or {}).get("labelSelector", ""))
        text = found.encode() if isinstance(found, str) else orjson.dumps(found)
        told = {"date": format_datetime(self.now, usegmt=True)}
        if path.endswith("/deployments") and method == "POST":
            assert {"dryRun": "All"} == params
            told["warning"] = ", ".join(f'299 - "{probe_answer(path)}"' for path in sorted(self.answering))
        return Answer(status, text, told)

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Refuse: nothing here is watched."""
        raise UnreachableError("no watches")

    def _answer(self, path: str, body: Any, selector: str) -> tuple[int, Object | str]:
        if self.forbidden(path):
            message = f'{path} is forbidden: User "jane" cannot get it'
            return 403, {"kind": "Status", "reason": "Forbidden", "message": message}
        if path in self.answers:
            if (answer := self.answers[path]) is None:
                raise UnreachableError(f"{self.url}: the connection broke off")
            return answer
        if body is not None and path.endswith("/deployments"):
            return 201, body
        if body is not None:
            return 201, {"status": {"allowed": self._allowed(body["spec"])}}
        if path in self.objects:
            return 200, self.objects[path]
        if path.endswith("s") and path != SERVICE:
            pattern = f"{path}/[^/]+" if path != "/api/v1/pods" else "/api/v1/namespaces/[^/]+/pods/[^/]+"
            wanted = dict(pair.split("=") for pair in selector.split(",") if "=" in pair)
            items = [
                obj
                for name, obj in self.objects.items()
                if re.fullmatch(pattern, name)
                and wanted.items() <= (obj.get("metadata", {}).get("labels") or {}).items()
            ]
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        return 404, {"kind": "Status", "reason": "NotFound", "message": f"{path} not found"}

    def _allowed(self, spec: Object) -> bool:
        attributes = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        group = f".{attributes['group']}" if "group" in attributes else ""
        name = f"/{attributes['name']}" if "name" in attributes else ""
        space = f" in {attributes['namespace']}" if "namespace" in attributes else ""
        status = f" --subresource={attributes['subresource']}" if "subresource" in attributes else ""
        what = attributes.get("path") or f"{attributes['resource']}{group}{name}{space}{status}"
        return (spec["user"].rpartition(":")[2], f"{attributes['verb']} {what}") in self.granted

    # What tests change.

    def webhook(self, kind: str) -> Object:
        """Return the webhook of a configuration."""
        found: Object = self.objects[CONFIGURATIONS[kind]]["webhooks"][0]
        return found

    def set_webhooks(self, **fields: Any) -> None:
        """Set fields of both webhooks of workloads."""
        for kind in CONFIGURATION_KINDS:
            self.webhook(kind).update(fields)

    def pod(self, number: int = 1) -> Object:
        """Return a replica."""
        return self.objects[f"{CORE}/pods/evenkeel-{number}"]

    def set_arguments(self, *arguments: str) -> None:
        """Set the arguments that every replica is started with."""
        for number in (1, 2):
            self.pod(number)["spec"]["containers"][1]["args"] = ["serve", *arguments]

    def answer_replica(self, number: int, status: int, body: Object | str) -> None:
        """Set the answer of a replica, or of the proxy before it, on /readyz."""
        self.answers[readyz(number)] = (status, body)


def readyz(number: int) -> str:
    return f"{CORE}/pods/https:evenkeel-{number}:8443/proxy/readyz"


def proxy_error(message: str) -> Object:
    """Return the answer of an API server that does not reach a pod."""
    return {"kind": "Status", "status": "Failure", "message": f"dial tcp 10.0.0.1:8443: {message}"}


def a_configuration(kind: str) -> Object:
    """Return a webhook configuration of the shipped manifests, as the API server returns it."""
    configuration = copy.deepcopy(base()[kind, "evenkeel"])
    for webhook in configuration["webhooks"]:
        webhook["clientConfig"]["caBundle"] = encoded(CA.certificate_pem)
        webhook["objectSelector"] = {}
        webhook.setdefault("namespaceSelector", {})
    return configuration


def excluding(*namespaces: str) -> Object:
    values = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(namespaces)}
    return {"matchExpressions": [values]}


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def a_pod(name: str) -> Object:
    """Return a replica as the API server returns it, beside a sidecar."""
    serving = {
        "name": "evenkeel",
        "args": ["serve", "--live", "--policy-status", "--cert-secret=evenkeel-tls", "--defaults=policy"],
        "ports": [{"name": "https", "containerPort": 8443}],
    }
    return {
        "metadata": {"name": name, "namespace": "evenkeel", "labels": {**LABELS, "pod-template-hash": "x"}},
        "spec": {
            "nodeName": f"node-{name[-1]}",
            "serviceAccountName": "evenkeel",
            "containers": [{"name": "proxy"}, serving],
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "evenkeel", "restartCount": 1}],
        },
    }


def a_cluster(*changes: Change) -> Cluster:
    """Return a healthy installation on 1.36, changed."""
    cluster = Cluster()
    for kind, path in CONFIGURATIONS.items():
        cluster.objects[path] = a_configuration(kind)
    for name in ("kube-system", "evenkeel", "shop"):
        metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        cluster.objects[f"/api/v1/namespaces/{name}"] = {"metadata": metadata}
    ports = [{"name": "https", "port": 443, "targetPort": "https"}]
    cluster.objects[SERVICE] = {"spec": {"selector": LABELS, "ports": ports}}
    template = {"metadata": {"labels": LABELS}, "spec": {}}
    cluster.objects[DEPLOYMENT] = {"spec": {"replicas": 2, "template": template}}
    cluster.answers[THROUGH_SERVICE] = (200, {"status": "ok"})
    for number in (1, 2):
        cluster.objects[f"{CORE}/pods/evenkeel-{number}"] = a_pod(f"evenkeel-{number}")
        cluster.answer_replica(number, 200, {"status": "ok"})
    cluster.objects[SECRET] = {"data": {"tls.crt": encoded(SERVING.certificate_pem)}}
    values = {"secret": "evenkeel-tls", "lease": "evenkeel", "namespace": "evenkeel", "webhooks": "evenkeel"}
    needed = (*LIVE, *(permission.format(**values) for permission in (*CERT_SECRET, *POLICY_STATUS)))
    cluster.granted = {("evenkeel", permission) for permission in needed}
    cluster.granted |= {("evenkeel-client", permission) for permission in CLIENT}
    for change in changes:
        change(cluster)
    return cluster


def with_policies(policy: str) -> Change:
    """Set the failure policy of the webhook that reviews policies."""
    return lambda cluster: cluster.objects[CONFIGURATIONS[VALIDATING]]["webhooks"][1].update(
        failurePolicy=policy
    )


def all_of(*changes: Change) -> Change:
    """Return changes as one."""
    return lambda cluster: [change(cluster) for change in changes]


def observations(*changes: Change, now: datetime | None = None) -> Observations:
    """Return the observations of a changed cluster, by default on a machine with its clock."""
    cluster = a_cluster(*changes)
    return collect(cluster, NAMES, now=now or cluster.now, tool_version="0.1.0")


def diagnosis(*changes: Change, now: datetime | None = None) -> Diagnosis:
    """Return the results in a changed cluster."""
    return diagnose(observations(*changes, now=now), Cluster.url)


def found(diagnosed: Diagnosis) -> list[tuple[str, str]]:
    """Return the results that are not in order: check and status."""
    bad = [result for result in diagnosed.results if result.status is not CheckStatus.OK]
    return [(result.check, str(result.status)) for result in bad]


def lines(results: Iterable[CheckResult]) -> str:
    """Return the wording of what is not in order."""
    text = "".join(
        f"{result.status} {result.check}: {result.evidence}\n"
        + (f"  do: {result.suggestion}\n" if result.suggestion else "")
        for result in results
        if result.status is not CheckStatus.OK
    )
    return stable(text)


def stable(text: str) -> str:
    """Return a text without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?", "DATE", text)
    return re.sub(r"SHA-256 [0-9A-F:]+", "SHA-256 XX", text)


def wording(cases: Iterable[Any]) -> str:
    """Return the wording of what each case of a table finds; a case's first value is a change."""
    return "\n".join(f"# {case.id}\n{lines(diagnosis(case.values[0]).results)}" for case in cases)
