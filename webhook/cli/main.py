"""Finds the command of ``evenkeel`` and says what went wrong, be it an extra that is not installed.

A command's module is imported when the command is used, so that ``evenkeel --help`` and shell completion
do not wait for libraries they do not need. No traceback reaches a user unless ``EVENKEEL_DEBUG=1`` is set.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from certs.errors import CertificateError
from policies.manifests.errors import CannotRunError, EvenkeelError
from policies.manifests.fields import did_you_mean
from webhook.cli.command import OPTION_ORDER, first_paragraph, refuse_command
from webhook.cli.terminal import ExitCode, note

#: The extra of commands that need more than the first module that they miss.
OF_COMMANDS: Final[Mapping[str, str]] = {"doctor": "live", "serve": "server"}
#: The same where the options say that the cluster is a live one.
OF_LIVE_CLUSTERS: Final[Mapping[str, str]] = {"certs": "live", "ui": "live,ui"}
#: Every command, by what people come for: a module below ``webhook.cli``.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Check files": ("lint", "plan"),
    "Ask where pods go": ("explain", "what-if"),
    "Ask about a cluster": ("audit", "ui", "snapshot"),
    "Find a change": ("advise",),
    "Run the webhook": ("serve", "policy", "certs", "doctor"),
    "About evenkeel": ("completion", "conformance"),
}
COMMANDS: Final = tuple(name for names in GROUPS.values() for name in names)

#: What names that people may have read somewhere are now: they are no commands.
GONE: Final[Mapping[str, str]] = {
    "fix": "lint --fix now: evenkeel lint --fix deploy",
    "options": "in each command's help now: evenkeel explain --help",
    "rebalance": "audit --evictions now: evenkeel audit deploy/web --evictions",
    "rollout": "what-if now: evenkeel what-if -f web.yaml",
    "rule": "lint --explain now: evenkeel lint --explain no-spread",
    "scale": "what-if --replicas now: evenkeel what-if deploy/web --replicas 6",
    "score": "explain -o scores now: evenkeel explain -f web.yaml -o scores",
    "simulate": "what-if now: evenkeel what-if -f web.yaml",
    "survive": "what-if --lose-each now: evenkeel what-if --lose-each zone",
    "upgrade": "what-if --release now: evenkeel what-if --release 1.37",
}

#: Commands in distributions of their own, by their modules.
APART: Final[Mapping[str, str]] = {"conformance": "conformance.command"}
#: Modules with another name than their command.
_MODULES: Final[Mapping[str, str]] = {"what-if": "what_if"}


class MissingExtraError(CannotRunError):
    """A command needs an extra that is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        from webhook import distribution

        super().__init__(f"{module} is not installed, and this needs it: {distribution.extra_hint(extra)}")


def missing_extra(
    module: str | None, command: str | None, options: Iterable[str | None] = ()
) -> MissingExtraError | None:
    """Return the error for a module that could not be imported; None where no extra brings it.

    Args:
        module: The full name of the module, as ``ModuleNotFoundError.name`` has it.
        command: The command that needs it.
        options: The names of the parameters that it was given.
    """
    from importlib import metadata

    from webhook import distribution

    top = (module or "").partition(".")[0]
    brought: dict[str, set[str]] = defaultdict(set)
    for requirement in metadata.requires(distribution.NAME) or ():
        # As in ``prometheus-client<1,>=0.21; extra == "server"``.
        needed, _, extra = requirement.partition("; extra == ")
        name = "".join(takewhile(lambda letter: letter.isalnum() or letter in "-_.", needed))
        brought[extra.strip("'\"")].add(name.lower().replace("-", "_"))
    extras = [extra for extra in brought if extra and top in brought[extra]]
    if not extras:
        return None
    smallest = min(extras, key=lambda extra: (len(brought[extra]), extra == "all", extra))
    given = set(options)
    live = "live" in given or (command == "certs" and not given & {"cert_dir", "ca_file"})
    named = {**OF_COMMANDS, **(OF_LIVE_CLUSTERS if live else {})}
    return MissingExtraError(top, named.get(command or "", smallest))


class MissingDistributionError(CannotRunError):
    """The distribution of a command is not installed."""

    def __init__(self, name: str) -> None:
        from webhook import distribution

        super().__init__(
            f"evenkeel {name} is not installed: it is a distribution of its own: "
            f"{distribution.conformance_hint()}"
        )


def _module(name: str) -> str:
    return APART.get(name, f"webhook.cli.{_MODULES.get(name, name)}")


def _summary(name: str) -> str:
    """Return the first paragraph of a command's docstring, as its source has it."""
    try:
        spec = find_spec(_module(name))
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        from webhook import distribution

        return f"Not installed: the distribution {distribution.CONFORMANCE}."
    # Importing every module would take a second, parsing each a tenth.
    _, _, below = Path(spec.origin).read_text(encoding="utf-8").partition("\ndef command(")
    return first_paragraph(below.split('"""')[1])


class _PipeClosedError(Exception):
    """The reader of our output ended before us; of a BrokenPipeError click would make exit code 1."""


@contextmanager
def _pipe_may_close() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeClosedError from error


class _LazyGroup(click.Group):
    """A group that shows its commands' names and summaries without importing them."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        try:
            command: click.Command = import_module(_module(name)).command
        except ModuleNotFoundError as error:
            if error.name in (APART.get(name), APART.get(name, "").partition(".")[0]):
                raise MissingDistributionError(name) from error
            raise missing_extra(error.name, name) or error from error
        return command

    def make_context(self, *args: Any, **named: Any) -> click.Context:
        """Parse the arguments, which may print help."""
        with _pipe_may_close():
            return super().make_context(*args, **named)

    def invoke(self, context: click.Context) -> Any:
        """Run a command, which may import late what is not installed."""
        try:
            with _pipe_may_close():
                return super().invoke(context)
        except ModuleNotFoundError as error:
            given = context.meta.get(OPTION_ORDER, ())
            raise missing_extra(error.name, context.invoked_subcommand, given) or error from error

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _summary(name)) for name in names])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click would import every command to find similar names.
        name = args[0]
        if "--jsonl" in args:
            # What programs speak is no command that help or shells list.
            from webhook.cli import machine

            if name in machine.FORMS:
                return name, machine.FORMS[name], args[1:]
        if name in GONE:
            context.fail(f"{name} is {GONE[name]}")
        if name not in COMMANDS:
            refuse_command(context, name, COMMANDS)
        return super().resolve_command(context, args)


def _no_color(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click calls it
    if value:
        # rich reads it too, and so do the processes that we start.
        os.environ["NO_COLOR"] = "1"
    if os.environ.get("NO_COLOR"):
        context.color = False


@click.group(
    cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="kube-evenkeel", prog_name="evenkeel", message="%(prog)s %(version)s")
@click.option(
    "--no-color", is_flag=True, is_eager=True, expose_value=False, callback=_no_color,
    help="Never color the output, as NO_COLOR=1 does.",
)  # fmt: skip
def command() -> None:
    """Keep Kubernetes workloads spread over nodes, racks and zones.

    Exit codes: 0 clean, 1 findings, 2 bad usage or unreadable input, 3 could not run.
    """


def run() -> NoReturn:
    """Run the command of this process' arguments and exit."""
    _open_missing_streams()
    program = Path(sys.argv[0]).name
    code = _guarded(program if program.startswith("kubectl-") else "evenkeel")
    # Python would look through all that there is for garbage once more before it ends.
    gc.freeze()
    sys.exit(code)


def _open_missing_streams() -> None:
    """Put the empty device where the caller closed a standard stream: Python has none there then.

    The first free descriptor is taken, so no file that is opened later becomes what a started program takes
    for its own output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # for the rest of the run


def _guarded(program: str) -> int:
    """Run the command; return the exit code."""
    try:
        return _exit_code(program)
    except (BrokenPipeError, _PipeClosedError):
        # The reader (head, say) has what it wanted.
        _drop_output()
        return ExitCode.PIPE_CLOSED
    except KeyboardInterrupt:
        note("ended by Ctrl-C")
        return ExitCode.INTERRUPTED
    except CannotRunError as error:
        _report(error)
        return ExitCode.CANNOT_RUN
    except (EvenkeelError, CertificateError) as error:
        _report(error)
        return ExitCode.BAD_INPUT
    except OSError as error:
        _debug()
        note(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return ExitCode.BAD_INPUT if error.filename else ExitCode.CANNOT_RUN
    except Exception as error:  # noqa: BLE001  # the last line before the user
        _debug()
        text = ", ".join((f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())))
        note(f"internal error: {text}; please report it (EVENKEEL_DEBUG=1 shows where)")
        return ExitCode.CANNOT_RUN


def _drop_output() -> None:
    """Let go what cannot be written: Python would complain while it flushes stdout, and end with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(program: str) -> int:
    try:
        result = command.main(prog_name=program, standalone_mode=False)
    except click.exceptions.Abort as error:
        raise KeyboardInterrupt from error
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.BAD_INPUT
    except click.ClickException as error:
        note(_usage_problem(error))
        return error.exit_code
    # Here an error can still be told.
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _usage_problem(error: click.ClickException) -> str:
    """Return the error of the arguments on one line, and where the help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    text = " ".join(error.format_message().split()).rstrip(".")
    if context is None:
        return text
    if isinstance(error, click.NoSuchOption):
        visible = (
            each for each in context.command.get_params(context)
            if isinstance(each, click.Option) and not each.hidden
        )  # fmt: skip
        hint = did_you_mean(error.option_name, [name for option in visible for name in option.opts])
        if not hint and isinstance(context.command, click.Group):
            hint = "; options follow the command"
        text = f"no such option: {error.option_name}{hint}"
    return f"{text} (see {context.command_path} --help)"


def _report(error: Exception) -> None:
    for line in str(error).splitlines() or [""]:
        note(line)


def _debug() -> None:
    if os.environ.get("EVENKEEL_DEBUG") == "1":
        traceback.print_exc()
