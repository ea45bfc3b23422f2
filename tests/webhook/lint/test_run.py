"""One process or two: the findings are the same."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from policies.config.context import AdmissionContext
from policies.lint.run import Selection
from webhook.lint import parse, run
from webhook.lint.run import READING_SHARE, Job, LintOutcome, lint_texts
from webhook.lint.texts import Text

DEPLOYMENT = b"""\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%d, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: %d
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      containers: [{name: web, image: web}]
"""
#: Makes a rule look at workloads of the other half.
BUDGET = b"""\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all, namespace: shop}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
"""


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small texts be cut and shared between processes."""
    monkeypatch.setattr(parse, "PIECE", 1000)
    monkeypatch.setattr(run, "WORTH_TWO", 0)


def outcome(texts: list[Text], processes: int) -> LintOutcome:
    job = Job(context=AdmissionContext(policies=()), selection=Selection(), processes=processes)
    return lint_texts(texts, job, lambda _read: None)


def stream(count: int) -> bytes:
    return b"".join(DEPLOYMENT % (number, number % 2) for number in range(count))


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([Text("a.yaml", stream(20) + BUDGET)], id="1 file, its budget at the end"),
        pytest.param([Text("a.yaml", BUDGET + stream(20))], id="1 file, its budget at the start"),
        pytest.param([Text(f"{name}.yaml", stream(3)) for name in "abcdef"], id="6 files"),
        pytest.param(
            [Text("a.yaml", stream(9) + b"---\nkind: [\n"), Text("b.yaml", stream(9))], id="1 broken"
        ),
        pytest.param([Text("a.yaml", b"kind: x\n  y: z: 0\n"), Text("b.yaml", stream(9))], id="broken first"),
    ],
)
def test_two_processes(texts: list[Text]) -> None:
    """Findings, their lines, and what else is told do not depend on the number of processes."""
    one, two = outcome(texts, 1), outcome(texts, 2)

    assert one.result.findings
    assert set(map(str, one.result.findings)) == set(map(str, two.result.findings))
    assert len(one.result.findings) == len(two.result.findings)
    assert one.result.workloads == two.result.workloads
    assert one.result.skipped == two.result.skipped
    assert (one.skipped, one.problems) == (two.skipped, two.problems)


@pytest.mark.parametrize("processes", [1, 2])
def test_progress(processes: int) -> None:
    """It only grows, is half-way when all is read, and ends with the last workload."""
    texts, told = [Text("a.yaml", stream(20))], list[float]()
    job = Job(context=AdmissionContext(policies=()), selection=Selection(), processes=processes)
    lint_texts(texts, job, told.append)

    assert sorted(told) == told
    assert 1 == told[-1]
    assert [] == [share for share in told[-20 // processes :] if share <= READING_SHARE]
    assert READING_SHARE in told


def test_a_file_that_breaks_off() -> None:
    """Of a file that cannot be read, no part is judged."""
    texts = [Text("a.yaml", stream(9) + b"---\nkind: [\n")]

    assert [0, 0] == [outcome(texts, processes).result.workloads for processes in (1, 2)]


def test_the_second_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is told as such: it may be the kernel's way of saying that memory is at an end."""
    monkeypatch.setattr(run, "_tell_all", lambda *_given: 1)

    with pytest.raises(ChildProcessError, match="killed"):
        outcome([Text("a.yaml", stream(9))], 2)


def test_the_second_process_fails(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Its error is raised here, and it prints nothing itself."""
    parent, told = os.getpid(), run._told

    def fail(half: run._Half) -> run._Beside:
        if os.getpid() != parent:
            raise ZeroDivisionError
        return told(half)

    monkeypatch.setattr(run, "_told", fail)

    with pytest.raises(ZeroDivisionError):
        outcome([Text("a.yaml", stream(9))], 2)
    assert ("", "") == capfd.readouterr()


def test_the_first_process_is_killed() -> None:
    """The second one ends, too, and waits for nobody."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    job = Job(context=AdmissionContext(policies=()), selection=Selection())
    # More than a pipe holds: it could not be sent without a reader.
    texts = [Text("a.yaml", stream(500))]
    worker = fork.Process(target=run._work, args=(texts, job, theirs, ours), daemon=True)
    worker.start()
    theirs.close()
    ours.close()
    worker.join(30)

    assert 1 == worker.exitcode
