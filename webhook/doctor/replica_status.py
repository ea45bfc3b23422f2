"""Queries replicas through the API server's proxy: whether they are ready, and what they warn of."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from webhook.doctor.observations import InstallationNames, Missing, Observed, ReplicaStatus
from webhook.doctor.replica_pod import ReplicaPod
from webhook.kube.api_server import ApiServer, UnreachableError

#: Seconds for an answer of a replica. The API server gives a webhook less.
_TIMEOUT_S: Final = 5.0
#: Replicas that are queried at the same time, so that one that hangs does not delay the others.
_QUERIES_AT_ONCE: Final = 8


def read_statuses(
    api: ApiServer, names: InstallationNames, replicas: Iterable[ReplicaPod]
) -> dict[str, ReplicaStatus]:
    """Return the status that each replica reports, by pod name."""
    paths = {replica.name: f"pods/https:{replica.name}:{replica.port}" for replica in replicas}
    with ThreadPoolExecutor(_QUERIES_AT_ONCE) as pool:
        answers = pool.map(lambda path: read_status(api, names, path), paths.values())
        return dict(zip(paths, answers, strict=True))


def read_status(api: ApiServer, names: InstallationNames, path: str) -> ReplicaStatus:
    """Return the status that a replica behind a proxied pod or Service of Evenkeel's namespace reports."""
    try:
        answer = api.send("GET", f"{names.api_path}/{path}/proxy/readyz", timeout_s=_TIMEOUT_S)
    except UnreachableError as error:
        return ReplicaStatus(Missing(str(error)), unreachable=str(error))
    body = answer.json_object()
    # A Status object is the API server's own.
    if "status" in body and body.get("kind") != "Status":
        return ReplicaStatus(Observed(body))
    refusal = answer.error()
    return ReplicaStatus(Missing(str(refusal)), unreachable="" if refusal.forbidden else str(refusal))
