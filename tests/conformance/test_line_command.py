"""Commands that answer a line for a line, and those that do not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conformance import line_command
from conformance.case import Operation
from conformance.implementation import ImplementationError
from conformance.line_command import LineCommand
from policies.manifests.errors import UsageError
from tests.conformance.programs import command_of
from tests.waiting import PATIENCE_S

#: More than a pipe holds.
LARGE = b'{"pod": "' + b"x" * 300_000 + b'"}'


def _started(command: str) -> LineCommand:
    return LineCommand(command, Operation.SCORE, timeout_s=PATIENCE_S)


def test_answers() -> None:
    """Requests and answers of any size, one after another; the command ends with its input."""
    with closing(_started(command_of("right"))) as command:
        found = [json.loads(command.answer(Operation.SCORE, line)) for line in (b'{"pod": 1}', LARGE, LARGE)]

    assert [1, 300_000, 300_000] == [
        answer["echo"] if answer["echo"] == 1 else len(answer["echo"]) for answer in found
    ]
    assert 0 == command._process.returncode


@pytest.mark.parametrize(
    ("program", "answers"),
    [
        ("ends at once", 0),
        ("ends in the middle", 1),
        ("killed in the middle", 1),
        ("hangs", 0),
        ("hangs in the middle", 1),
        ("answers at the end", 0),
        ("without end", 1),
        ("two lines", 1),
        ("endless line", 0),
        ("closes its output", 0),
    ],
)
def test_failures(
    program: str, answers: int, wording: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command does, the run ends in time and reports it; nothing is left running."""
    if program == "closes its output":
        monkeypatch.setattr(line_command, "_END_S", 0.2)
    with closing(_started(command_of(program))) as command:
        command.title = "the command x"
        if program.startswith(("hangs", "answers at the end")):
            # What comes takes its time on a busy machine; what does not come takes none.
            _ask(command, answers)
            command._timeout_s = 1.0
            answers = 0
        # When lines without end are noticed is the machine's: before the first answer, between two, or while
        # a request is still being sent.
        unending = program == "without end"
        with pytest.raises(ImplementationError) as caught:
            _ask(command, 1000 if unending else answers + 1)

    told = str(caught.value)
    if unending:
        early = "wrote an answer before it had read the request"
        late = "wrote more than one line for one request, or one without a request: y"
        told = re.sub(r"after \d+ answers?", "after 1 answer", told.replace(early, late))
    assert wording(told) == told
    assert command._process.poll() is not None


def _ask(command: LineCommand, times: int) -> None:
    for _ in range(times):
        command.answer(Operation.SCORE, b"{}")


@pytest.mark.parametrize("program", ["speaks first", "does not read"])
def test_unasked(program: str) -> None:
    """A line that answers no request is none."""
    with closing(_started(command_of(program))) as command:
        assert command._selector.select(PATIENCE_S)
        with pytest.raises(ImplementationError, match="without a request"):
            command.answer(Operation.SCORE, b"{}")


@pytest.mark.parametrize("command", ["/no/such/program", "'", " ", "{folder}"])
def test_no_command(command: str, tmp_path: Path) -> None:
    """A command that cannot be started is a usage error."""
    with pytest.raises(UsageError, match="cannot run"):
        _started(command.format(folder=tmp_path))
