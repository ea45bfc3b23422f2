"""Lint texts, in two processes where there are two cores and the work is worth it.

Each process reads a half of the texts. What the rules must know of the other half goes over a pipe before
any rule is asked, so the findings are the same as those of one process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from multiprocessing.connection import Connection
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.config.workload_loader import Gathered, folder_of, gather
from policies.lint.merge_builds import merge_builds
from policies.lint.run import LintResult, Selection, lint_gathered
from policies.manifests.findings import Finding
from policies.manifests.skipped import Skipped
from policies.model.autoscalers import runs_cluster_autoscaler
from policies.model.declared import Workload
from policies.model.repository import Repository, goes_with_workloads
from policies.model.topology import ClusterTopology
from webhook.lint.parse import parse, pieces
from webhook.lint.texts import Text

#: Bytes of all texts from which a second process is worth its start. Arbitrary; reading a megabyte takes a
#: quarter of a second, starting a process a hundredth, and telling it what the other knows about as much.
WORTH_TWO: Final = 2**20
#: The part of the work that reading is; rules are the rest. Measured on Deployments of 700 bytes.
READING_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every text is judged by.

    Attributes:
        context: Policies, release and kinds.
        selection: Which rules are asked.
        inventory: The cluster's nodes or domains.
        today: The day by which exemptions expire.
        processes: How many processes may work, 1 or 2; None for as many as there are cores.
    """

    context: AdmissionContext
    selection: Selection
    inventory: ClusterTopology | None = None
    today: date | None = None
    processes: int | None = None


@dataclass(slots=True)
class LintOutcome:
    """What a run found.

    Attributes:
        result: The findings.
        skipped: What was passed over and why.
        problems: What cannot be read.
    """

    result: LintResult = field(default_factory=LintResult)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class _Half:
    """What a process read.

    Attributes:
        gathered: The objects.
        outcome: What was told while they were read.
        broken: Files that cannot be read; what was read of them in parts does not count.
    """

    gathered: Gathered
    outcome: LintOutcome
    broken: set[str]

    def drop(self, broken: set[str]) -> None:
        """Take out what was read of broken files."""
        if broken:
            gathered = self.gathered
            gathered.declared = [
                entry for entry in gathered.declared if entry.manifest.document.file not in broken
            ]
            gathered.others = [entry for entry in gathered.others if entry.document.file not in broken]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What the rules of one process must know of what the other has read."""

    workloads: list[Workload]
    others: list[tuple[dict[str, Any], str]]
    broken: set[str]


class Progress:
    """How much of the work is done; of two processes that work side by side the first stands for both.

    Args:
        size: The bytes to read.
        show: Called now and then with the share of the work that is done, from 0 to 1.
    """

    def __init__(self, size: int, show: Callable[[float], None]) -> None:
        self._size = size
        self._show = show
        self._read = 0

    def read(self, size: int) -> None:
        """Take in that so many bytes more are read."""
        self._read += size
        self._show(READING_SHARE * self._read / (self._size or 1))

    def judging(self, workloads: int) -> Callable[[], None]:
        """Return what is called after each of so many workloads that are judged."""
        numbers = iter(range(1, workloads + 1))

        def judged() -> None:
            self._show(READING_SHARE + (1 - READING_SHARE) * next(numbers) / workloads)

        return judged


def lint_texts(texts: Iterable[Text], job: Job, show: Callable[[float], None]) -> LintOutcome:
    """Ask the rules of every workload of the texts.

    Args:
        texts: What to read.
        job: What to judge by.
        show: Called now and then with the share of the work that is done, from 0 to 1.
    """
    parts = [part for text in texts for part in pieces(text)]
    if _processes(parts, job) < 2:
        progress = Progress(_size(parts), show)
        half = _read(parts, job, progress)
        half.drop(half.broken)
        outcome = _judge(half, half.gathered.repository, job, progress)
    else:
        first, second = _halves(parts)
        outcome = _lint_beside(first, second, job, Progress(_size(first), show))
    merge_builds(outcome.result)
    return outcome


def _size(parts: list[Text]) -> int:
    return sum(len(part.content) for part in parts)


def _processes(parts: list[Text], job: Job) -> int:
    if len(parts) < 2 or _size(parts) < WORTH_TWO:
        return 1
    # A process with threads cannot be copied safely.
    if threading.active_count() > 1 or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    return job.processes or len(os.sched_getaffinity(0))


def _halves(parts: list[Text]) -> tuple[list[Text], list[Text]]:
    """Cut a list of texts where about half of the bytes are before."""
    whole, before = _size(parts), 0
    for position, part in enumerate(parts):
        before += len(part.content)
        if before * 2 >= whole:
            return parts[: position + 1], parts[position + 1 :]
    return parts, []


def _lint_beside(first: list[Text], second: list[Text], job: Job, progress: Progress) -> LintOutcome:
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    worker = fork.Process(target=_work, args=(second, job, theirs, ours), daemon=True)
    worker.start()
    theirs.close()
    try:
        half = _read(first, job, progress)
        # The worker tells first: if both did, both would wait for a reader.
        beside: _Beside = _received(ours)
        ours.send(_told(half))
        outcome = _judge_beside(half, beside, job, progress, comes_first=True)
        other: LintOutcome = _received(ours)
    except (EOFError, ConnectionError) as error:
        # Most likely the machine's memory is at an end, and the kernel chose this process.
        raise ChildProcessError(
            "the second process that linted was killed; is there enough memory?"
        ) from error
    finally:
        ours.close()
        # It is still at work if this process has given up.
        worker.terminate()
        worker.join()
    return _joined(outcome, other)


def _received(pipe: Connection) -> Any:
    """Return what the second process tells, or raise what went wrong there."""
    told = pipe.recv()
    if isinstance(told, Exception):
        raise told
    return told


def _work(texts: list[Text], job: Job, pipe: Connection, other_end: Connection) -> None:
    """Do the second process' part."""
    # Ctrl-C reaches both; the first one says so.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Else the pipe would stay open when the first process is killed, and this one wait for it for ever.
    other_end.close()
    # The first process waits for this one's end, and freeing a million values one by one takes a while.
    os._exit(_tell_all(texts, job, pipe))


def _tell_all(texts: list[Text], job: Job, pipe: Connection) -> int:
    """Read and judge; return the exit code, since a traceback of this process would help nobody."""
    try:
        progress = Progress(_size(texts), lambda _share: None)
        half = _read(texts, job, progress)
        pipe.send(_told(half))
        beside: _Beside = pipe.recv()
        pipe.send(_judge_beside(half, beside, job, progress, comes_first=False))
    except (EOFError, ConnectionError):
        # The first process is gone.
        return 1
    except Exception as error:  # noqa: BLE001  # the first process tells it, as it tells its own
        pipe.send(error)
        return 1
    return 0


def _read(parts: list[Text], job: Job, progress: Progress) -> _Half:
    outcome = LintOutcome()
    broken: set[str] = set()
    gathered = Gathered()
    for part in parts:
        parsed = parse(part)
        # At once, while the processor still has the objects at hand.
        found = gather(parsed.objects, job.context)
        gathered.declared += found.declared
        gathered.others += found.others
        outcome.skipped += parsed.skipped
        outcome.problems += parsed.problems
        if parsed.problems:
            broken.add(part.file)
        progress.read(len(part.content))
    return _Half(gathered, outcome, broken)


def _told(half: _Half) -> _Beside:
    others = [
        (entry.value, folder_of(entry)) for entry in half.gathered.others if goes_with_workloads(entry.value)
    ]
    return _Beside([_stripped(entry.workload) for entry in half.gathered.declared], others, half.broken)


def _stripped(workload: Workload) -> Workload:
    """Return a workload without its pods' spec, which rules ask only of their own workload."""
    if runs_cluster_autoscaler(workload):
        return workload
    obj: Any = {**workload.obj}
    *way, last = workload.kind.template or ("spec",)
    node = obj
    for name in way:
        if not isinstance(node.get(name), dict):
            break
        node[name] = {**node[name]}
        node = node[name]
    else:
        node.pop(last, None)
    return replace(workload, obj=obj, constraints=(), errors=())


def _judge_beside(
    half: _Half, beside: _Beside, job: Job, progress: Progress, *, comes_first: bool
) -> LintOutcome:
    half.drop(half.broken | beside.broken)
    own = [entry.workload for entry in half.gathered.declared]
    other_values = [(entry.value, folder_of(entry)) for entry in half.gathered.others]
    first, second = (own, beside.workloads) if comes_first else (beside.workloads, own)
    objects = [*other_values, *beside.others] if comes_first else [*beside.others, *other_values]
    values, folders = (value for value, _ in objects), (folder for _, folder in objects)
    return _judge(half, Repository.of([*first, *second], values, folders), job, progress)


def _judge(half: _Half, repository: Repository, job: Job, progress: Progress) -> LintOutcome:
    half.outcome.result = lint_gathered(
        half.gathered,
        repository,
        job.context,
        selection=job.selection,
        inventory=job.inventory,
        today=job.today,
        judged=progress.judging(len(half.gathered.declared)),
    )
    return half.outcome


def _joined(first: LintOutcome, second: LintOutcome) -> LintOutcome:
    first.skipped += second.skipped
    first.problems += second.problems
    result = first.result
    result.findings += second.result.findings
    result.suppressed += second.result.suppressed
    result.skipped |= second.result.skipped
    result.workloads += second.result.workloads
    result.custom_resources += second.result.custom_resources
    return first
