"""``evenkeel lint --fix``: what is written where, and how it exits."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from policies.manifests.errors import EvenkeelError
from webhook.cli.main import command

OLD_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
WEB = f"""\
# who knows why
apiVersion: apps/v1
kind: Deployment
metadata: {{name:   "web"}}   # a name
spec:
    replicas: 1
    selector: {{matchLabels: {{app: web}}}}
    template:
        metadata: {{labels: {{app: web}}}}
        spec:
            topologySpreadConstraints:
            -   maxSkew: 1
                topologyKey: {OLD_ZONE}   # old
                whenUnsatisfiable: ScheduleAnyway
                labelSelector: {{matchLabels: {{app: web}}}}
            containers: [{{name: web, image: web}}]
"""
FIXED = WEB.replace(OLD_ZONE, ZONE)
BARE = (
    "".join(
        line for line in WEB.splitlines(keepends=True) if "name:   " in line or not line.startswith(" " * 12)
    )
    + "            containers: [{name: web, image: web}]\n"
)
RENAMES = ("--select", "topology-key-deprecated")


@pytest.fixture
def fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def fix(*args: str, stdin: str | bytes = "") -> Result:
        how = () if "--diff" in args else ("--fix",)
        return CliRunner().invoke(command, ["lint", *how, *args], input=stdin)

    return fix


def test_writes_back(fix: Any) -> None:
    """The file changes where it must, and nothing is left to do; a second run finds nothing."""
    file = Path("web.yaml")
    file.write_text(WEB)
    first, second = fix(*RENAMES), fix(*RENAMES)

    assert FIXED == file.read_text()
    assert (0, 0) == (first.exit_code, second.exit_code)
    assert first.stdout.startswith("web.yaml:13: Deployment web: ")
    assert "fixed 1 problem in 1 file\n" == first.stderr
    assert ("", "nothing to fix\n") == (second.stdout, second.stderr)


@pytest.mark.parametrize("name", ["a\nb.yaml", "\x1b[31m.yaml", "caf\udce9.yaml"], ids=ascii)
def test_names_that_cannot_be_shown(fix: Any, name: str) -> None:
    """A file is written by its own name, not by the one that messages use."""
    file = Path(name)
    file.write_text(WEB)
    result = fix(*RENAMES)

    assert (0, FIXED) == (result.exit_code, file.read_text())
    assert name not in result.output


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_ends_stay(fix: Any, newline: bytes) -> None:
    """Bytes that are not edited are not touched."""
    Path("web.yaml").write_bytes(WEB.encode("utf-8-sig").replace(b"\n", newline))
    fix(*RENAMES)

    assert FIXED.encode("utf-8-sig").replace(b"\n", newline) == Path("web.yaml").read_bytes()


def test_diff(fix: Any) -> None:
    """--diff prints what would change, writes nothing, and exits with 1; with 0 when nothing would."""
    Path("web.yaml").write_text(WEB)
    Path("done.yaml").write_text(FIXED)
    result = fix("--diff", *RENAMES)

    assert WEB == Path("web.yaml").read_text()
    assert 1 == result.exit_code
    assert ["--- a/web.yaml", "+++ b/web.yaml"] == result.stdout.splitlines()[:2]
    assert "would fix 1 problem in 1 file" in result.stderr
    assert (0, "") == ((done := fix("--diff", "done.yaml", *RENAMES)).exit_code, done.stdout)


@pytest.mark.parametrize(
    ("stdin", "code", "stdout"),
    [
        pytest.param(WEB, 0, FIXED, id="fixed"),
        pytest.param(FIXED, 0, FIXED, id="nothing to fix"),
        pytest.param("# nothing\n", 2, "# nothing\n", id="no object: passed on, but no success"),
    ],
)
def test_stdin(fix: Any, stdin: str, code: int, stdout: str) -> None:
    """A pipe gets the whole text on stdout, and words on stderr only."""
    result = fix("-", *RENAMES, stdin=stdin)

    assert (code, stdout) == (result.exit_code, result.stdout)


def test_stdin_with_diff(fix: Any) -> None:
    """A pipe may ask for the difference."""
    assert "--- a/<stdin>\n" in fix("-", "--diff", *RENAMES, stdin=WEB).stdout


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("never", 0)], ids=["an error is left", "nothing counts"]
)
def test_what_is_left(fix: Any, fail_on: str, code: int, wording: Callable[[str], str]) -> None:
    """Findings that cannot be fixed count as they do for lint."""
    Path("web.yaml").write_text(WEB.replace("maxSkew: 1", "maxSkew: 0"))
    result = fix("web.yaml", "--fail-on", fail_on)

    assert code == result.exit_code
    assert wording(result.stderr) == result.stderr


def test_refusal_is_told(fix: Any, wording: Callable[[str], str]) -> None:
    """A value that others share is left alone, with its line."""
    shared = WEB.replace(OLD_ZONE, f"&zone {OLD_ZONE}")
    Path("web.yaml").write_text(shared)
    result = fix(*RENAMES)

    assert shared == Path("web.yaml").read_text()
    assert wording(result.stderr) == result.stderr


def test_inject(fix: Any) -> None:
    """Workloads without constraints get the policy's, in the layout of their file."""
    Path("web.yaml").write_text(BARE)
    result = fix("--inject", "--policy", "builtin:soft-spread", "--ignore", "soft-constraint-outweighed")
    text = Path("web.yaml").read_text()

    assert 0 == result.exit_code
    assert (
        'metadata: {name:   "web", annotations: {evenkeel.dev/injected-by: soft-spread}}   # a name' in text
    )
    assert "            topologySpreadConstraints:\n" in text


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(("--inject",), 2, id="no defaults to inject"),
        pytest.param(("-", "web.yaml"), 2, id="stdin and a file"),
        pytest.param(("missing.yaml",), 2, id="no such file"),
        pytest.param(("--select", "no-such-rule"), 2, id="no such rule"),
    ],
)
def test_bad_usage(fix: Any, args: tuple[str, ...], code: int) -> None:
    """Bad usage is told, never by a traceback."""
    Path("web.yaml").write_text(WEB)
    result = fix(*args)

    assert isinstance(result.exception, EvenkeelError | SystemExit)
    assert WEB == Path("web.yaml").read_text()
    assert code == result.exit_code or isinstance(result.exception, EvenkeelError)


def test_broken_files_stop_no_other(fix: Any) -> None:
    """A file that cannot be read makes exit code 2; the others are mended."""
    Path("a.yaml").write_text("kind: [")
    Path("web.yaml").write_text(WEB)
    result = fix(*RENAMES)

    assert 2 == result.exit_code
    assert FIXED == Path("web.yaml").read_text()
    assert "a.yaml:1: " in result.stderr


def test_one_that_cannot_be_written_stops_no_other(
    fix: Any, monkeypatch: pytest.MonkeyPatch, wording: Callable[[str], str]
) -> None:
    """A file that cannot be replaced is told and makes exit code 2; the others are mended."""
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text(WEB)
    whole = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target.name == "a.yaml":
            raise PermissionError(13, "Permission denied")
        return whole(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    result = fix(*RENAMES)

    assert (2, WEB, FIXED) == (result.exit_code, Path("a.yaml").read_text(), Path("b.yaml").read_text())
    assert wording(result.stderr) == result.stderr


def test_a_read_only_file(fix: Any, monkeypatch: pytest.MonkeyPatch, wording: Callable[[str], str]) -> None:
    """It stays as it is, though its folder would let us replace it, and that is said."""
    Path("web.yaml").write_text(WEB)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "web.yaml" or mode != os.W_OK)
    result = fix(*RENAMES)

    assert (2, WEB) == (result.exit_code, Path("web.yaml").read_text())
    assert wording(result.stderr) == result.stderr


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec: {chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}}
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["."], 2, id="2: a folder with nothing else"),
        pytest.param([".", "web.yaml"], 0, id="0: a folder with a workload"),
        pytest.param(["release.yaml"], 2, id="2: a chart from elsewhere"),
        pytest.param(["shop", "web.yaml"], 0, id="0: what fix never does"),
        pytest.param(["shop"], 2, id="2: what fix never does, and nothing else"),
        pytest.param(["over"], 2, id="2: a kustomization that is named"),
        pytest.param([".", "--fail-on-skipped", "any"], 2, id="2: all must be read"),
        pytest.param(["broken.yaml"], 2, id="2: a broken file"),
        pytest.param(["broken.yaml", "--fail-on", "never"], 0, id="0: never fail"),
        pytest.param(["broken.yaml", "web.yaml", "--ignore", "unreadable"], 0, id="0: ignored"),
        pytest.param(["nowhere.yaml", "--fail-on", "never"], 2, id="2: no such file"),
        pytest.param(["-"], 2, id="2: an empty pipe"),
    ],
)
def test_what_is_skipped(
    fix: Any,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    wording: Callable[[str], str],
) -> None:
    """It is told as lint tells it, and the exit codes are the same."""
    monkeypatch.setenv("PATH", "")  # Else kustomize or kubectl has its own words.
    for name, text in {
        "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "over/kustomization.yaml": "resources: [web.yaml]\n",
        "secret.yaml": "$ANSIBLE_VAULT;1.1;AES256\n3031\n",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    if "web.yaml" in arguments:
        Path("web.yaml").write_text(FIXED)
    if "release.yaml" in arguments:
        Path("release.yaml").write_text(RELEASE)
    if "broken.yaml" in arguments:
        Path("broken.yaml").write_text("kind: a\n b: c: d\n")
    result = fix(*arguments)

    assert code == result.exit_code
    assert wording(result.stderr) == result.stderr


PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {topologySpreadConstraints: [
  {topologyKey: %s, maxSkew: 2, whenUnsatisfiable: %s}]}}}
"""
INLINE = PATCH % (OLD_ZONE.replace("zone", "region"), "ScheduleAnyway")
OPERATIONS = f"""\
- op: add
  path: /spec/template/spec/topologySpreadConstraints/-
  value: {{topologyKey: {OLD_ZONE}, maxSkew: 3, whenUnsatisfiable: DoNotSchedule}}  # mine
"""
OVERLAYS = {
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "base/web.yaml": WEB,
    "a/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\npatches:\n- path: patch.yaml\n- patch: |\n"
    + textwrap.indent(INLINE, "    "),
    "a/patch.yaml": PATCH % (OLD_ZONE, "DoNotSchedule"),
    "b/kustomization.yaml": "resources: [../base]\npatches: [{path: ops.yaml, target: {kind: Deployment}}]\n",
    "b/ops.yaml": OPERATIONS,
}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds kustomizations")
def test_what_kustomize_builds(fix: Any) -> None:
    """Resource, patch, inline patch and JSON Patch are mended where they stand, all at once."""
    for name, text in OVERLAYS.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    shown = fix("--diff", *RENAMES)
    first, second = fix(*RENAMES), fix(*RENAMES)
    renamed = {name: text.replace("failure-domain.beta", "topology") for name, text in OVERLAYS.items()}

    assert renamed == {name: Path(name).read_text() for name in OVERLAYS}
    assert "would fix 4 problems in 4 files\n" in shown.stderr
    assert (0, "fixed 4 problems in 4 files\n") == (first.exit_code, first.stderr)
    assert "nothing to fix\n" == second.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--fix", "--diff"], "--fix may not be combined with --diff"),
        (["--inject"], "--inject may only be set with --fix or --diff"),
        (["--diff", "-o", "json"], "--format may not be combined"),
        (["--fix", "--set", "a=b"], "--set may not be combined"),
        (["--fix", "--write-baseline", "a.json"], "--write-baseline may not be combined"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_of_something_else(tmp_path: Path, given: list[str], said: str) -> None:
    """What has no meaning beside a correction is refused, and nothing is written."""
    (tmp_path / "web.yaml").write_text(WEB)
    with pytest.raises(EvenkeelError, match=said):
        CliRunner().invoke(command, ["lint", *given, str(tmp_path)], catch_exceptions=False)

    assert WEB == (tmp_path / "web.yaml").read_text()
