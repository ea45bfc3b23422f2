"""Which cases a real kube-scheduler can be asked, and why not the others; a part or a sample of them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from conformance.case import ConformanceCase, Operation
from conformance.cluster_objects import ENDED
from conformance.run import CaseResult
from policies.manifests.errors import UsageError
from policies.model.version import KubernetesVersion

#: What of an expected answer a cluster shows.
_SHOWN: Final = frozenset({"best", "condition", "preemption", "steps"})


def draw(
    cases: Iterable[ConformanceCase],
    version: KubernetesVersion,
    *,
    size: int | None,
    seed: int,
    shard: tuple[int, int],
) -> tuple[frozenset[str], list[CaseResult]]:
    """Choose the cases that a cluster is asked.

    Args:
        cases: The cases to choose from.
        version: The release of the cluster.
        size: How many are drawn; None for all.
        seed: Of the draw.
        shard: Which part of them they are drawn from, from 1, and of how many.

    Returns:
        The ids of those, and the results of the others: with the reason where it cannot be asked one.
    """
    others, possible = list[CaseResult](), list[CaseResult]()
    for case in cases:
        why = why_not_asked(case, version)
        (others if why else possible).append(CaseResult.of(case, problem=why, declined=bool(why)))
    part = possible[shard[0] - 1 :: shard[1]]
    if size is not None and size < len(part):
        # It decides nothing but what is asked.
        part = random.Random(seed).sample(part, size)  # noqa: S311
    drawn = frozenset(result.id for result in part)
    return drawn, [*others, *(result for result in possible if result.id not in drawn)]


def why_not_asked(case: ConformanceCase, version: KubernetesVersion) -> str:
    """Return why a cluster of a release cannot be asked a case; empty if it can."""
    if not _SHOWN.intersection(case.expected):
        return "only scores, counts or verdicts of single plugins are known"
    if KubernetesVersion.parse(case.release) != version:
        return f"of another release than {version}"
    pods = case.request["queue"] if case.operation is Operation.SIMULATE else [case.request["pod"]]
    if any(
        pod["spec"].get("nodeName")
        or "deletionTimestamp" in pod["metadata"]
        or (pod.get("status") or {}).get("phase") in ENDED
        for pod in pods
    ):
        return "the pod has ended or has a node"
    defaults = case.request.get("defaults") or {}
    if defaults.get("defaultingType", "System") != "System" and not all(
        pod["spec"].get("topologySpreadConstraints") for pod in pods
    ):
        return "default constraints of another configuration"
    return ""


def parse_shard(text: str) -> tuple[int, int]:
    """Read which part of how many is meant.

    Raises:
        UsageError: The text does not say so.

    >>> parse_shard("3/8")
    (3, 8)
    """
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError("--shard: must be a part and their number, such as 1/8")
    return int(number), int(count)
