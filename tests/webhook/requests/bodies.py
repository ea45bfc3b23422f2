"""Score requests: a test mentions only what it is about."""

from __future__ import annotations

from typing import Any

import orjson

from tests.builders import a_constraint, a_node, a_pod
from tests.planning.verdicts import on

#: Two zones, with two pods in the first.
CLUSTER = {"nodes": [a_node("n1", "a"), a_node("n2", "b")], "pods": on("n1", 2)}


def a_request(**fields: Any) -> dict[str, Any]:
    """Return a request for a pod that fits one of two nodes; a field given as None is left out."""
    pod = a_pod(spec={"topologySpreadConstraints": [a_constraint()]})
    request = {"pod": pod, "cluster": CLUSTER, **fields}
    return {name: value for name, value in request.items() if value is not None}


def a_body(**fields: Any) -> bytes:
    """Return the same as JSON."""
    return orjson.dumps(a_request(**fields))
