"""The examples of manuals as whole documents: an excerpt is put into the Deployment around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from policies.lint.reports.rule_manual import CONSTRAINT, DEPLOYMENT
from policies.manifests.documents import load
from policies.manifests.errors import DocumentError
from policies.model.constraint import CONSTRAINT_FIELDS
from tests.policies.rules.documents import text_of

#: The YAML blocks of a manual, or of one of its sections.
BLOCK = re.compile(r"```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODES = re.compile(r"^# Nodes: (.+)$", re.MULTILINE)
_NODE = re.compile(r"(?P<name>[a-z0-9-]+)(?: in zone (?P<zone>[a-z]+))?")
#: Members of a workload; an excerpt with any of them is one of the workload, else of the spec of its pods,
#: or of its constraint.
_OF_WORKLOADS = frozenset({"kind", "metadata", "spec"})


def whole(block: str) -> str:
    """Return an example without excerpts; one that has none, or cannot be read, is returned as it stands."""
    try:
        values = [document.value for document in load(block, "example.yaml")]
    except DocumentError:
        return block
    nodes = list(_nodes(block))
    if not nodes and all("apiVersion" in value for value in values):
        return block
    return text_of(*map(_workload, values), *nodes)


def _workload(value: dict[str, Any]) -> dict[str, Any]:
    if "apiVersion" in value:
        return value
    around, usual = (load(text, "usual.yaml")[0].value for text in (DEPLOYMENT, CONSTRAINT))
    if value.keys() <= CONSTRAINT_FIELDS:
        (constraint,) = usual["topologySpreadConstraints"]
        value = {"topologySpreadConstraints": [constraint | value]}
    excerpt = value if _OF_WORKLOADS & value.keys() else {"spec": {"template": {"spec": value}}}
    return _merged(around, excerpt)


def _merged(around: dict[str, Any], excerpt: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping with what an excerpt adds or replaces; lists are replaced."""
    pairs = {
        key: _merged(around[key], item)
        if isinstance(item, dict) and isinstance(around.get(key), dict)
        else item
        for key, item in excerpt.items()
    }
    return {**around, **pairs}


def _nodes(block: str) -> Iterator[dict[str, Any]]:
    """Yield the nodes that a comment lists."""
    for listed in _NODES.findall(block):
        for text in listed.split(", "):
            found = _NODE.fullmatch(text)
            assert found, f"must be a node, or nodes of a zone: {text}"
            labels = {"kubernetes.io/hostname": found["name"]}
            if found["zone"]:
                labels["topology.kubernetes.io/zone"] = found["zone"]
            yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": found["name"], "labels": labels}}
