"""Policies and contexts for the tests of evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from policies.config.context import AdmissionContext
from policies.config.loader import load_policies
from policies.model.workload import Workload
from tests.builders import a_policy
from tests.policies.scheduler.clusters import an_index

ZONE = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
HOST = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}


def defaults(at: str = "pods", constraints: Iterable[dict[str, Any]] = (ZONE, HOST)) -> dict[str, Any]:
    """Return the ``defaults`` of a policy."""
    return {"at": at, "constraints": list(constraints)}


def read(obj: dict[str, Any], context: AdmissionContext | None = None, **fields: Any) -> Workload:
    """Return an object of namespace shop as it is read in a context."""
    known = context or AdmissionContext(policies=())
    kind = known.kind_of(obj)
    assert kind is not None
    return Workload.read(obj, kind, "shop", release=known.release, **fields)


def a_context(
    *policies: dict[str, Any], cluster: Iterable[dict[str, Any]] | None = None, **fields: Any
) -> AdmissionContext:
    """Return a context of policy documents and of the objects of a cluster; None for no cluster."""
    text = yaml.safe_dump_all(policies or [a_policy()]).encode()
    return AdmissionContext(
        policies=load_policies(["policies.yaml"], lambda _: text),
        cluster=None if cluster is None else an_index(cluster),
        **fields,
    )
