"""What unit tests of kube-scheduler's plugins expect, as requests and the part of the answer they know."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

_FILE = Path(__file__).parents[3] / "data" / "unit-tables.jsonl.gz"


def unit_tables() -> dict[str, list[dict[str, Any]]]:
    """Return the cases by table; the name of a case begins with that of its table."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress(_FILE.read_bytes()).splitlines():
        case = orjson.loads(line)
        tables.setdefault(case["name"].partition(":")[0].rpartition(" ")[0], []).append(case)
    return tables


def known_part(answer: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return of an answer what a case expects something of, in the words of the case."""
    return {name: _PARTS[name](answer, expected[name]) for name in expected}


def _rejections(node: dict[str, Any]) -> dict[str, list[str]]:
    return {entry["plugin"]: [entry["code"], entry["reason"]] for entry in node["rejections"]}


def _codes(answer: dict[str, Any], _: Any) -> dict[str, str | None]:
    return {node["name"]: _rejections(node).get("PodTopologySpread", [None])[0] for node in answer["nodes"]}


def _refusals(answer: dict[str, Any], expected: dict[str, Any]) -> dict[str, list[str] | None]:
    (node,) = answer["nodes"]
    return {plugin: _rejections(node).get(plugin) for plugin in expected}


def _scores(answer: dict[str, Any], expected: dict[str, int]) -> dict[str, int | None]:
    return {node["name"]: node["score"] for node in answer["nodes"] if node["name"] in expected}


def _constraints(answer: dict[str, Any], action: str) -> Iterator[dict[str, Any]]:
    return (entry for entry in answer["constraints"] if entry["whenUnsatisfiable"] == action)


def _counts(answer: dict[str, Any], action: str) -> list[dict[str, int]]:
    return [
        {domain["value"]: domain["matching"] for domain in entry["domains"]}
        for entry in _constraints(answer, action)
    ]


def _soft_counts(answer: dict[str, Any], expected: list[Any]) -> list[dict[str, int] | None]:
    """Return them, None where nothing is expected: of hosts the scheduler keeps no counts."""
    counts = _counts(answer, "ScheduleAnyway")
    return [None if wanted is None else found for found, wanted in zip(counts, expected, strict=True)]


def _sizes(answer: dict[str, Any], _: Any) -> list[int]:
    return [round(math.exp(entry["weight"])) - 2 for entry in _constraints(answer, "ScheduleAnyway")]


#: How each thing that is expected is read from an answer.
_PARTS = {
    "preFilter": lambda answer, _: answer["preFilter"],
    "preScore": lambda answer, _: answer["preScore"],
    "codes": _codes,
    "refusals": _refusals,
    "feasible": lambda answer, _: [node["name"] for node in answer["nodes"] if node["feasible"]],
    "scores": _scores,
    "counts": lambda answer, _: _counts(answer, "DoNotSchedule"),
    "minima": lambda answer, _: [entry["globalMinimum"] for entry in _constraints(answer, "DoNotSchedule")],
    "softCounts": _soft_counts,
    "sizes": _sizes,
}
