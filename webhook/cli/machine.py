"""The forms for programs, which no help lists: ``score --jsonl`` and ``simulate --jsonl``, a request a line.

docs/reference/machine-forms.md describes them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN
from webhook.cli.command import Command
from webhook.cli.placement_options import PlacementOptions, cluster_options
from webhook.cli.terminal import ExitCode, finish

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.pods.known_pods import KnownPods

#: The option that makes a command's name one of these.
JSONL: Final = "--jsonl"
_jsonl: Final = click.option(
    JSONL, is_flag=True, required=True, expose_value=False, help="Answer each line of standard input by one."
)


@click.command("score", cls=Command)
@_jsonl
@cluster_options
def score(**values: Any) -> None:  # the options of the cluster
    """Answer score requests, as POST /v1/score does.

    Exit codes: 0 every pod fits a node, 1 some fit none, 2 a line was invalid, 3 could not run.
    """
    from webhook.cli import placement

    server = placement.read_context(_options(values))
    finish(_answer_lines(sys.stdin.buffer, partial(_score, server=server)))


@click.command("simulate", cls=Command)
@_jsonl
@cluster_options
def simulate(**values: Any) -> None:  # the options of the cluster
    """Answer simulate requests, as POST /v1/simulate does.

    Exit codes: 0 every pod got a node, 1 some stay pending, 2 a line was invalid, 3 could not run.
    """
    from webhook.cli import placement

    options = _options(values)
    known = placement.known_pods(options, keeps=True)
    server = placement.read_context(options, known)
    finish(_answer_lines(sys.stdin.buffer, partial(_simulate, server=server, known=known)))


#: The forms by the names of commands.
FORMS: Final[Mapping[str, click.Command]] = {"score": score, "simulate": simulate}


def _options(values: dict[str, Any]) -> PlacementOptions:
    options = PlacementOptions(**values)
    if options.cluster == STDIN:
        raise UsageError("--cluster must be a file: standard input has the requests")
    options.check_cluster()
    return options


def _score(line: bytes, server: AdmissionContext) -> tuple[bytes, bool]:
    from planning.explain import score_json
    from webhook.requests import score

    placement = score.place_request(line, server)
    return score_json.render(placement), bool(placement.result.feasible_count)


def _simulate(line: bytes, server: AdmissionContext, known: KnownPods) -> tuple[bytes, bool]:
    from planning.what_if import simulate_json
    from webhook.requests import simulate

    simulated = simulate.simulate_request(line, server, known)
    return simulate_json.render(simulated), simulated.succeeds


def _answer_lines(lines: BinaryIO, answer: Callable[[bytes], tuple[bytes, bool]]) -> ExitCode:
    """Answer each request as soon as its line has come; return the exit code.

    Args:
        lines: A request on each.
        answer: Returns the JSON of an answer, and whether everything fits; raises RequestError.
    """
    codes = {ExitCode.CLEAN}
    for line in lines:
        text, code = _answer_line(line, answer)
        codes.add(code)
        sys.stdout.buffer.write(text.rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()
    # The gravest: we failed, then a bad line, then a pod that fits nowhere.
    return max(codes)


def _answer_line(line: bytes, answer: Callable[[bytes], tuple[bytes, bool]]) -> tuple[bytes, ExitCode]:
    from webhook.http import problems
    from webhook.requests import frame

    try:
        text, fits = answer(line)
    except frame.RequestError as error:
        return problems.problem(error.message, error.errors), ExitCode.BAD_INPUT
    except Exception as error:  # noqa: BLE001  # whatever a line found: the stream goes on
        return problems.problem(
            f"internal error: {type(error).__name__}: {error}; please report it"
        ), ExitCode.CANNOT_RUN
    return text, ExitCode.CLEAN if fits else ExitCode.FINDINGS
