"""Requests and answers of real API servers and schedulers: from ``tests/data`` and the conformance corpus."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from conformance.case import ConformanceCase
from conformance.corpus import Corpus, open_corpus
from webhook.admission.review import Phase

DATA = Path(__file__).parent / "data"


@cache
def recorded_reviews() -> dict[str, bytes]:
    """Return the bodies of all recorded requests."""
    return {entry["name"]: entry["body"].encode() for entry in _lines("admissionreviews.jsonl.gz")}


def phase_of(name: str) -> Phase:
    """Return which webhook a recorded request was sent to."""
    return Phase(name.split(".")[1])


def corpus_cases(name: str) -> list[ConformanceCase]:
    """Return the cases in a file of the conformance corpus."""
    (file,) = (file for file in open_corpus().files if file.name == name)
    return [case for _, case in Corpus(version="", place=name, files=(file,)).cases()]


def recorded_schedules() -> Iterator[dict[str, Any]]:
    """Yield each cluster and pod with what kube-scheduler's plugins answered; a caller may change them."""
    return map(_of_plugins, corpus_cases("plugins.jsonl.gz"))


def recorded_edges() -> Iterator[dict[str, Any]]:
    """Yield the same of eleven families of rare cases; see ``alike``."""
    return map(_of_plugins, corpus_cases("edge-cases.jsonl.gz"))


def recorded_profiles() -> Iterator[dict[str, Any]]:
    """Yield each cluster and pod with what the whole default profile answered."""
    return map(_of_profile, corpus_cases("profile.jsonl.gz"))


def recorded_sequences() -> Iterator[dict[str, Any]]:
    """Yield each cluster and queue of pods with where the scheduler bound them, one after another."""
    return map(_flat, corpus_cases("sequences.jsonl.gz"))


def recorded_storage() -> Iterator[dict[str, Any]]:
    """Yield clusters with volumes, and with priorities, with what the default profile answered."""
    for name in ("volumes.jsonl.gz", "preemption.jsonl.gz"):
        for case in corpus_cases(name):
            yield {"name": case.id, **case.request["cluster"], "pod": case.request["pod"]} | {
                "expected": case.expected
            }


def _flat(case: ConformanceCase) -> dict[str, Any]:
    """Return a case with the lists of its cluster beside the pod, as the tests of the engine read it."""
    request = case.request
    rest = {name: value for name, value in request.items() if name not in ("cluster", "defaults")}
    return {
        "name": case.id, **request["cluster"], **rest, "args": request["defaults"], "expected": case.expected
    }  # fmt: skip


def _of_plugins(case: ConformanceCase) -> dict[str, Any]:
    """Return a case with the reason of each plugin that rejects a node under the name of the plugin."""
    nodes = {}
    for name, node in case.expected["nodes"].items():
        entry = {key: value for key, value in node.items() if key != "rejections"}
        for plugin, rejection in node["rejections"].items():
            if rejection is not None:
                entry[plugin[0].lower() + plugin[1:]] = rejection["reason"]
                entry |= {"podTopologySpreadCode": rejection["code"]} if "code" in rejection else {}
        nodes[name] = entry
    return _flat(case) | {"expected": case.expected | {"nodes": nodes}}


def _of_profile(case: ConformanceCase) -> dict[str, Any]:
    """Return a case with the rejections of a node as a list, in the order of the profile."""
    nodes = {}
    for name, node in case.expected["nodes"].items():
        entry = {"feasible": node["feasible"]}
        if node["feasible"]:
            entry |= {"scores": node["plugins"], "total": node["total"]}
        elif "rejections" in node:
            entry["refusals"] = [
                {"plugin": plugin, "code": rejection["code"], "reasons": rejection["reason"].split(", ")}
                for plugin, rejection in node["rejections"].items()
                if rejection is not None
            ]
        nodes[name] = entry
    return _flat(case) | {"expected": case.expected | {"nodes": nodes}}


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


@cache
def recorded_rollouts() -> dict[str, dict[str, Any]]:
    """Return by name what a real control plane made of workloads; callers must not change them."""
    return {record["name"]: record for record in _lines("rollouts.jsonl.gz")}


def recorded_rebalances() -> dict[str, dict[str, Any]]:
    """Return by name where a real control plane put the replacements of evicted pods."""
    return {record["name"]: record for record in _lines("rebalances.jsonl.gz")}


@cache
def recorded_scale_ups() -> tuple[dict[str, Any], ...]:
    """Return clusters with pending pods, and what Cluster Autoscaler does; callers must not change them."""
    return tuple(_lines("scale-ups.jsonl.gz"))


@cache
def recorded_scale_downs() -> tuple[dict[str, Any], ...]:
    """Return clusters, and which nodes Cluster Autoscaler does not need; callers must not change them."""
    return tuple(_lines("scale-downs.jsonl.gz"))


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name) as lines:
        yield from map(orjson.loads, lines)
