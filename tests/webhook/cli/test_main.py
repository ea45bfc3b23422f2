"""The entry point: it finds commands, and every failure is a line and an exit code."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from certs.errors import CertificateError
from policies.manifests.errors import DocumentError, UsageError
from tests.for_each import for_each
from tests.webhook.cli.in_process import evenkeel
from webhook.cli import main
from webhook.cli.command import first_paragraph
from webhook.kube.api_server import UnreachableError
from webhook.listener import ListenError


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        pytest.param(DocumentError(["a.yaml:1: x", "a.yaml:2: y"]), 2, 2, id="2: a document, 2 problems"),
        pytest.param(UsageError("no"), 2, 1, id="2: usage"),
        pytest.param(CertificateError("no"), 2, 1, id="2: certificate"),
        pytest.param(FileNotFoundError(2, "No such file or directory", "p.yaml"), 2, 1, id="2: missing file"),
        pytest.param(OSError(28, "No space left on device"), 3, 1, id="3: system"),
        pytest.param(ListenError("taken"), 3, 1, id="3: address"),
        pytest.param(UnreachableError("nobody"), 3, 1, id="3: cluster"),
        pytest.param(ZeroDivisionError("oops"), 3, 1, id="3: our own bug"),
        pytest.param(KeyboardInterrupt(), 130, 1, id="130: Ctrl-C"),
    ],
)
def test_errors_become_lines_and_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    lines: int,
) -> None:
    """No error is a traceback."""

    def fail(_program: str) -> int:
        raise error

    monkeypatch.setattr(main, "_exit_code", fail)
    found = main._guarded("evenkeel")
    written = capsys.readouterr().err.splitlines()

    assert (code, lines) == (found, len(written))
    assert all(line.startswith("evenkeel: ") for line in written)


def test_what_others_say_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error may repeat what a server answered, of which only text is shown."""

    def fail(_program: str) -> int:
        raise UnreachableError("\x1b]0;title\x07 größer\x1b[2J")

    monkeypatch.setattr(main, "_exit_code", fail)
    main._guarded("evenkeel")

    assert "evenkeel: \\x1b]0;title\\x07 größer\\x1b[2J\n" == capsys.readouterr().err


def _run(*arguments: str, program: str = "evenkeel") -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.argv[0] = {program!r}; from webhook.cli.start import run; run()"
    return subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_imports_no_heavy_module() -> None:
    """Help and completion do not wait for the server's libraries."""
    done = _run("--help")

    assert done.returncode == 0
    assert all(name in done.stdout for name in main.COMMANDS)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert set() == loaded & {"flask", "gunicorn", "cryptography", "prometheus_client", "jsonschema", "rich"}


EXAMPLES = Path(__file__).parents[3] / "docs/examples"
#: Modules of which each takes longer to import than the rest of a small run.
HEAVY = {
    "asyncio", "celpy", "cryptography", "flask", "gunicorn", "jsonschema", "kubernetes", "numpy",
    "prometheus_client", "rich", "urllib3", "uvicorn",
}  # fmt: skip
#: Finds every command and shows its help, all in one process.
ALL_HELP = """
import sys
import click
from webhook.cli.main import command
def show(command, context):
    command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            show(below, click.Context(below, parent=context, info_name=name))
show(command, click.Context(command))
print(*sys.modules, sep="\\n")
"""


def test_no_help_imports_an_engine() -> None:
    """Nor does that of commands that compute with it, or with what else only work needs."""
    done = subprocess.run([sys.executable, "-c", ALL_HELP], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()

    assert {"webhook.cli.what_if", "webhook.cli.policy"} <= set(loaded)
    assert set() == set(loaded) & HEAVY


#: Runs a command, and says on stderr what it has loaded.
RUN = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=sys.stderr))
from kube_evenkeel.start import run
run()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("lint checkout.yaml", set()),
        ("lint --policy policy.yaml checkout.yaml", {"jsonschema"}),
        ("lint --diff checkout.yaml", set()),
        ("lint --explain no-spread", set()),
        ("explain -f web.yaml --cluster cluster.yaml", {"numpy", "rich"}),
        ("what-if -f web.yaml --cluster cluster.yaml --lose zone=a", {"numpy", "rich"}),
        ("audit --cluster cluster.yaml", {"numpy", "rich"}),
        ("policy check policy.yaml", {"jsonschema", "numpy"}),
        ("certs show --cert-dir .", {"cryptography"}),
    ],
)
def test_a_command_imports_what_it_needs(words: str, needed: set[str]) -> None:
    """What files are read for waits for no cluster, server, page, certificate or check of documents."""
    command = [sys.executable, "-c", RUN, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES)

    assert done.returncode in (0, 1, 2)
    assert needed == set(done.stderr.splitlines()) & HEAVY


#: Imports all that is installed where conformance is not, and runs a command.
WITHOUT_CONFORMANCE = """
import pkgutil, sys
from importlib import import_module
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "conformance":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import certs, planning, policies, webhook
for package in (certs, planning, policies, webhook):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            import_module(found.name)
sys.argv[0] = "evenkeel"
from webhook.cli.start import run
run()
"""


def test_without_the_distribution_of_a_command() -> None:
    """Nothing else needs it, and the command says how to get it."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CONFORMANCE, "conformance", "--feature", "KEP-3022"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (3, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("evenkeel: evenkeel conformance is not installed: ")
    assert 1 == done.stderr.count("\n")
    assert "conformance" in done.stderr.partition("pip install ")[2]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    """A caller may have closed any of the standard streams."""
    code = "import sys; sys.argv[1:] = ['lint', '-']; from webhook.cli.start import run; run()"
    command = ["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, code]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)

    # What stands on standard input is nothing.
    assert 2 == done.returncode
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["explain", "--help"], ["lint", "--explain"], ["completion", "bash"], ["policy", "schema"]],
    ids=" ".join,
)
def test_a_reader_that_is_gone(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As of other programs: that nobody read the output is neither clean nor a finding."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    start = "from webhook.cli.start import run; run()"
    with subprocess.Popen(
        [sys.executable, "-c", start, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, written = process.communicate()

    assert (141, b"") == (process.returncode, written)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
@pytest.mark.parametrize("options", [[], ["-u"]], ids=["buffered", "unbuffered"])
def test_a_full_disk(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said in words, whether Python writes at once or at the end."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        start = "from webhook.cli.start import run; run()"
        command = [sys.executable, *options, "-c", start, "lint", "--explain"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)

    assert (3, b"evenkeel: No space left on device\n") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        "explain -f {}",
        "explain -f web.yaml --cluster {}",
        "lint --policy {} .",
        "what-if -f web.yaml --cluster c.json --autoscale {}",
        "audit --cluster c.json --scheduler-config {}",
        "certs show --cert-dir {}",
        "policy test {}",
        "serve --self-signed --cluster {}",
        "doctor --kubeconfig {}",
    ],
)
def test_addresses_are_no_files(tmp_path: Path, arguments: str) -> None:
    """For any option, the address is repeated as it was typed."""
    done = evenkeel(*arguments.format("https://example.com/a.yaml").split(), folder=tmp_path)

    assert 2 == done.returncode
    assert b"https://example.com/a.yaml: only files and folders are read, no addresses" in done.stderr


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("jsn", '--format: Unsupported value: "jsn", did you mean "json"?'),
        ("xml", '--format: Unsupported value: "xml": supported values: text, '),
        ("json=", '--format: Invalid value: "json=": must be json=FILE or json'),
        ("json=nowhere/a.json", "nowhere: No such file or directory"),
    ],
)
@pytest.mark.parametrize(
    "command",
    ["explain -f none.yaml", "lint none.yaml", "audit --cluster none.json"],
    ids=lambda line: line.split()[0],
)
def test_formats_are_checked_before_any_file_is_read(
    tmp_path: Path, command: str, output: str, told: str
) -> None:
    """In the same words by all commands; the work is not done for a report that has no place."""
    done = evenkeel(*command.split(), "-o", output, folder=tmp_path)

    assert 2 == done.returncode
    assert told in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "no such command: 'nonsense'"),
        (["lnt"], 'did you mean "lint"? (see evenkeel --help)'),
        (
            ["rule", "no-spread"],
            "rule is lint --explain now: evenkeel lint --explain no-spread (see evenkeel --help)",
        ),
        (["policy", "shw"], 'did you mean "show"? (see evenkeel policy --help)'),
        (["--kubeconfig", "x", "audit"], "no such option: --kubeconfig; options follow the command"),
        (["serve", "--nonsense"], "no such option: --nonsense (see evenkeel serve --help)"),
        (["explain", "--clustr", "x"], 'no such option: --clustr, did you mean "--cluster"?'),
        # An old name that is hidden is not proposed.
        (["explain", "--nam", "x"], "no such option: --nam (see evenkeel explain --help)"),
        (["upgrade"], "upgrade is what-if --release now: evenkeel what-if --release 1.37"),
        (["completion"], "Choose from: bash, zsh, fish (see evenkeel completion --help)"),
    ],
)
def test_bad_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """Bad usage ends with exit code 2 and one line, as everything else that is wrong."""
    monkeypatch.setattr("sys.argv", ["evenkeel", *arguments])
    code = main._guarded("evenkeel")
    (line,) = capsys.readouterr().err.splitlines()

    assert 2 == code
    assert line.startswith("evenkeel: ")
    assert said in line


@for_each(main.GONE)
def test_what_a_command_that_went_is_now(name: str) -> None:
    """It names a command that is there, and options that it has; the old name itself is none."""
    command, *words = main.GONE[name].partition("now: evenkeel ")[2].split()
    known = import_module(main._module(command)).command.params

    assert command in main.COMMANDS
    assert name not in main.COMMANDS
    assert set() == {word for word in words if word.startswith("-")} - {
        opt for each in known for opt in each.opts
    } - {"--help"}


def test_kubectl_plugin_says_its_own_name() -> None:
    """Called as a kubectl plugin, the usage names the plugin."""
    assert "Usage: kubectl-evenkeel " in _run("--help", program="/x/kubectl-evenkeel").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_serves_both_names(tmp_path: Path, shell: str) -> None:
    """The script completes the command and the plugin."""
    done = evenkeel("completion", shell, folder=tmp_path)

    assert done.returncode == 0
    assert b"_EVENKEEL_COMPLETE" in done.stdout
    assert b"_KUBECTL_EVENKEEL_COMPLETE" in done.stdout


@for_each(main.COMMANDS)
def test_a_summary_is_what_the_help_begins_with(name: str) -> None:
    """``evenkeel --help`` reads it of the source, without importing the command."""
    assert first_paragraph(import_module(main._module(name)).command.help) == main._summary(name) != ""


WITHOUT_EXTRAS = """
import sys
class Missing:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("gunicorn", "kubernetes"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from webhook.cli.start import run
run()
"""


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["serve", "--self-signed"], "server"),
        (["doctor"], "live"),
        (["snapshot", "--context", "serve"], "live"),
    ],
)
def test_without_the_extra_of_a_command(arguments: list[str], extra: str) -> None:
    """The error says the line to type, also where a function imports the module."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *arguments], capture_output=True, text=True, check=False
    )

    assert (3, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
    assert f"[{extra}]'\n" in done.stderr.partition("pip install ")[2]
