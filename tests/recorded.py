"""What real API servers and schedulers sent and answered; ``data/README.md`` says where from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from webhook.admission.respond import Phase

DATA = Path(__file__).parent / "data"


@cache
def recorded_reviews() -> dict[str, bytes]:
    """Return the bodies of all recorded requests."""
    return {entry["name"]: entry["body"].encode() for entry in _lines("admissionreviews.jsonl.gz")}


def phase_of(name: str) -> Phase:
    """Return which webhook a recorded request was sent to."""
    return Phase(name.split(".")[1])


def recorded_schedules() -> Iterator[dict[str, Any]]:
    """Yield each cluster and pod with what kube-scheduler's plugins answered; a caller may change them."""
    return _lines("schedule.jsonl.gz")


def recorded_edges() -> Iterator[dict[str, Any]]:
    """Yield the same of eleven families of rare cases; see ``alike``."""
    return _lines("edge.jsonl.gz")


def recorded_profiles() -> Iterator[dict[str, Any]]:
    """Yield each cluster and pod with what the whole default profile answered."""
    return _lines("profile.jsonl.gz")


def recorded_sequences() -> Iterator[dict[str, Any]]:
    """Yield each cluster and queue of pods with where the scheduler bound them, one after another."""
    return _lines("sequences.jsonl.gz")


def alike(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Tell whether an answer is the expected one, whatever the order of NodeResourcesFit's reasons.

    The scheduler's is that of a Go map.
    """
    return _sorted_reasons(found) == _sorted_reasons(expected)


def _sorted_reasons(answer: dict[str, Any]) -> dict[str, Any]:
    nodes = {
        name: node | {"nodeResourcesFit": sorted(node.get("nodeResourcesFit", "").split(", "))}
        for name, node in answer["nodes"].items()
    }
    return answer | {"nodes": nodes}


@cache
def recorded_placements() -> dict[str, dict[str, Any]]:
    """Return by name each scenario with what a real kube-scheduler did; callers must not change them."""
    return {scenario["name"]: scenario for scenario in _lines("placements.jsonl.gz")}


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
