"""The corpus against a real kube-scheduler, in a control plane that has nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.cluster_objects import LABEL, SCHEDULER
from conformance.corpus import open_corpus
from tests.e2e.assets import find_assets
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubectl import Kubectl
from tests.e2e.objects import node
from tests.e2e.processes import Processes
from tests.e2e.scheduling import scheduling
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.kubernetes(since="1.36")

#: A pod that fits, one that does not, a queue, a claim that waits for its pod, and an eviction.
CASES: Final = (
    "full-k1-00000",
    "full-k1-00005",
    "sequence-k1-00000",
    "volumes-wait-for-first-consumer-032",
    "preemption-resources-037",
)
#: The kinds of what a run makes.
KINDS: Final = (
    "nodes,pods,ns,pvc,pv,sc,priorityclasses,services,replicasets,statefulsets,rc,pdb,runtimeclasses"
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane with a scheduler and without nodes; its administrator."""
    assets = find_assets(os.environ)
    assert assets is not None
    processes, folder = Processes(), tmp_path_factory.mktemp("empty")
    try:
        started = ControlPlane(assets, processes, folder)
        with scheduling(started, folder, SCHEDULER, ("serviceaccount",)):
            yield started.kubectl
    finally:
        processes.end()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of these cases: to read the whole one takes longer than they do."""
    path = tmp_path_factory.mktemp("corpus") / "some.jsonl"
    path.write_bytes(b"".join(line for line, case in open_corpus().cases() if case.id in CASES))
    return path


def _command(kubectl: Kubectl, corpus: Path, *options: str) -> list[str]:
    run = [sys.executable, "-m", "kube_evenkeel", "conformance", "--cluster-under-test", "-o", "json"]
    return [*run, f"--kubeconfig={kubectl.kubeconfig}", f"--corpus={corpus}", "--timeout=60", *options]


def _run(kubectl: Kubectl, corpus: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Run cases; return the exit code, the report and stderr."""
    command = _command(kubectl, corpus, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def _made(kubectl: Kubectl) -> list[str]:
    """Return what of a run is in the cluster."""
    return [
        f"{found['kind']} {found['metadata']['name']}"
        for found in kubectl.get(KINDS, "-A", "-l", LABEL)["items"]
    ]


def test_a_scheduler_decides_as_recorded(empty: Kubectl, corpus: Path) -> None:
    """Its decisions are those of the corpus and of this engine, and nothing of the cases is left."""
    code, report, error = _run(empty, corpus)

    assert ([], "") == (report.get("failed"), report.get("stopped")), error
    assert (0, len(CASES)) == (code, report["cases"]["partial"])
    assert [] == _made(empty)


def test_leftovers_are_removed(empty: Kubectl, corpus: Path, tmp_path: Path) -> None:
    """A run that was killed leaves objects, which the next one removes before it begins."""
    with (tmp_path / "log").open("wb") as log:
        killed = subprocess.Popen(_command(empty, corpus, "--feature=sequences"), stdout=log, stderr=log)
        try:
            eventually(lambda: any("Pod" in made for made in _made(empty)))
        finally:
            killed.kill()
            killed.wait()
    left = _made(empty)
    code, _, error = _run(empty, corpus, "--sample=1")

    assert left
    assert (0, []) == (code, _made(empty)), error


def test_a_node_of_somebody_else(empty: Kubectl, corpus: Path) -> None:
    """A cluster with a node is none to be tested; the node is left alone."""
    empty.do("create", "-f", "-", stdin=node("theirs", "zone-a"))
    try:
        code, report, error = _run(empty, corpus, "--sample=1")
        kept = empty.get("nodes")["items"]
    finally:
        empty.do("delete", "node", "theirs")

    assert (3, {}) == (code, report)
    assert "the cluster is not empty: it has Node theirs" in error
    assert ["theirs"] == [found["metadata"]["name"] for found in kept]
