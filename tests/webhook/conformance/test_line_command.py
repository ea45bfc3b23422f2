"""Commands that answer a line for a line, and those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from policies.conformance.case import Operation
from policies.manifests.errors import UsageError
from tests.webhook.conformance.programs import command_of
from webhook.conformance import line_command
from webhook.conformance.implementation import ImplementationError
from webhook.conformance.line_command import LineCommand

#: More than a pipe holds.
LARGE = b'{"pod": "' + b"x" * 300_000 + b'"}'


def _started(command: str, timeout_s: float = 20.0) -> LineCommand:
    return LineCommand(command, Operation.SCORE, timeout_s=timeout_s)


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
    """Whatever a command does, the run ends in time and says what it did; nothing is left running."""
    monkeypatch.setattr(line_command, "_END_S", 0.2)
    slow = program.startswith(("hangs", "answers at the end"))
    with closing(_started(command_of(program), 1.0 if slow else 20.0)) as command:
        command.title = "the command x"
        for _ in range(answers):
            command.answer(Operation.SCORE, b"{}")
        if program == "without end":
            # On a busy machine its next line comes later than the next request.
            assert command._rest or command._selector.select(5)
        with pytest.raises(ImplementationError) as caught:
            command.answer(Operation.SCORE, b"{}")

    assert wording(str(caught.value)) == str(caught.value)
    assert command._process.poll() is not None


@pytest.mark.parametrize("program", ["speaks first", "does not read"])
def test_unasked(program: str) -> None:
    """A line that answers no request is none."""
    with closing(_started(command_of(program), 5.0)) as command:
        assert command._selector.select(5)
        with pytest.raises(ImplementationError, match="without a request"):
            command.answer(Operation.SCORE, b"{}")


@pytest.mark.parametrize("command", ["/no/such/program", "'", " ", "{folder}"])
def test_no_command(command: str, tmp_path: Path) -> None:
    """What cannot be started is a mistake of usage."""
    with pytest.raises(UsageError, match="cannot run"):
        _started(command.format(folder=tmp_path))
