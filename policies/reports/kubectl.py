"""Commands of kubectl, for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import orjson

from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_kinds import WorkloadKind


def patch_command(kind: WorkloadKind, metadata: Mapping[str, Any], patch: Mapping[str, Any]) -> str:
    """Return the command that applies a JSON merge patch to an object of the cluster.

    Args:
        kind: Its kind.
        metadata: Its metadata.
        patch: The patch.
    """
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    words = ["kubectl", "patch", f"{kind.typed}/{metadata.get('name')}", "--namespace", namespace]
    return shlex.join([*words, "--type", "merge", "--patch", orjson.dumps(patch).decode()])
