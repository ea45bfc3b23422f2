"""`evenkeel lint`, as people type it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.webhook.cli.in_process import evenkeel
from tests.webhook.cli.live import Commands
from tests.webhook.http.authorization.control_plane import a_control_plane
from webhook.cli.lint import command

GOOD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
"""
BAD = GOOD.replace("maxSkew: 1", "maxSkew: 0")
#: Asks for one rule only, so that further rules do not disturb.
ONE = ("--select", "max-skew-not-positive")
EXEMPT = BAD.replace(
    "{name: web}\n", "{name: web, annotations: {evenkeel.dev/ignore: 'max-skew-not-positive: why%s'}}\n", 1
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a good, a bad and a broken file."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"good": GOOD, "bad": BAD, "broken": "kind: a\n b: c: d\n"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def lint(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(command, arguments, input=stdin, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["good.yaml"], 0, id="0: clean"),
        pytest.param(["bad.yaml"], 1, id="1: an error"),
        pytest.param(["bad.yaml", "--fail-on", "never"], 0, id="0: never fail"),
        pytest.param(["bad.yaml", "broken.yaml"], 2, id="2: a file cannot be read"),
        pytest.param(["broken.yaml", "--fail-on", "never"], 0, id="0: never fail by what files hold"),
        pytest.param(["nowhere.yaml", "--fail-on", "never"], 2, id="2: no such file, even so"),
        pytest.param(["broken.yaml", "--ignore", "unreadable"], 2, id="2: all that there is is ignored"),
        pytest.param(
            ["broken.yaml", "good.yaml", "--ignore", "unreadable"], 0, id="0: what cannot be read is ignored"
        ),
        pytest.param(["nowhere.yaml", "--ignore", "unreadable"], 2, id="2: no such file, ignored or not"),
        pytest.param(["broken.yaml", "--select", "unreadable"], 2, id="2: only what cannot be read"),
        pytest.param(["."], 2, id="2: a folder with a broken file"),
        pytest.param(["nowhere.yaml"], 2, id="2: no such file"),
        pytest.param(["bad.yaml", "--ignore", "max-skew-not-positive"], 0, id="0: the rule is ignored"),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int) -> None:
    """0 clean, 1 findings, 2 what cannot be read."""
    select = () if {"--ignore", "--select"} & {*arguments} else ONE
    assert code == lint(*arguments, *select).exit_code


ENCRYPTED = "$ANSIBLE_VAULT;1.1;AES256\n3031\n"


@pytest.fixture
def blind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work where there is hardly anything that can be read, on a machine without helm and kustomize."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    files = {
        "charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "overlays/prod/kustomization.yaml": "resources: [web.yaml]\n",
        "overlays/prod/web.yaml": GOOD,
        "secret.yaml": ENCRYPTED,
        "empty/.keep": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["."], 0, id="0: a folder"),
        pytest.param([".", "--fail-on-skipped", "any"], 2, id="2: a folder, and all of it must be read"),
        pytest.param([".", "--helm", "off", "--kustomize", "off"], 0, id="0: switched off"),
        pytest.param(["charts/shop"], 2, id="2: a chart"),
        pytest.param(["charts/shop/Chart.yaml"], 2, id="2: a chart's file"),
        pytest.param(["charts/shop", "--helm", "off"], 2, id="2: a chart that is off, and nothing else"),
        pytest.param(["charts/shop", "--fail-on-skipped", "never"], 0, id="0: a chart may be skipped"),
        pytest.param(["charts/shop", "--fail-on", "never"], 0, id="0: a chart, never fail"),
        pytest.param(["overlays/prod"], 2, id="2: a kustomization"),
        pytest.param(["overlays"], 0, id="0: a folder with kustomizations"),
        pytest.param(["secret.yaml", "overlays"], 0, id="0: an encrypted file"),
        pytest.param(["secret.yaml"], 2, id="2: an encrypted file, and nothing else"),
        pytest.param(["secret.yaml", "overlays", "--fail-on-skipped", "any"], 2, id="2: encrypted, but any"),
        pytest.param(["empty"], 2, id="2: a folder with nothing in it"),
        pytest.param(["-"], 2, id="2: an empty pipe"),
        pytest.param(["charts/shop", "--set", "a=b"], 2, id="2: a chart with a value"),
    ],
)
def test_exit_codes_of_what_is_skipped(blind: Path, arguments: list[str], code: int) -> None:
    """Paths that the user names must be read, unless an option lets them be skipped."""
    assert code == lint(*arguments, *ONE).exit_code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["charts"], 2, id="2: a folder of charts"),
        pytest.param(["overlays"], 0, id="0: a folder whose files are read without patches"),
        pytest.param(["charts", "--fail-on-skipped", "never"], 0, id="0: all may be skipped"),
        pytest.param(["charts", "--helm", "off"], 2, id="2: switched off"),
        pytest.param(["charts", "--helm", "off", "--fail-on", "never"], 0, id="0: off, never fail"),
        pytest.param(["secret.yaml"], 2, id="2: an encrypted file"),
        pytest.param(["empty"], 2, id="2: a folder with nothing in it"),
    ],
)
def test_a_run_without_workloads_is_not_clean(blind: Path, arguments: list[str], code: int) -> None:
    """If skipped files leave nothing to evaluate, it is as if each of them had been named."""
    assert code == lint(*arguments, "--config", "none").exit_code


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_what_is_skipped_is_in_every_report(blind: Path, form: str) -> None:
    """Each report names it, and so does the summary that a person reads."""
    result = lint(".", "empty", *ONE, "-o", form)

    for name in ("charts/shop/Chart.yaml", "overlays/prod/kustomization.yaml", "secret.yaml", "empty"):
        assert name in result.stdout
    summary = result.stdout if form == "text" else result.stderr
    assert "; 1 chart, 1 kustomization, 1 file and 1 folder were skipped\n" in summary


def test_what_is_skipped_counts_as_no_file(folder: Path) -> None:
    """A file that was not read is neither counted as checked nor a case that passes."""
    (folder / "secret.yaml").write_text(ENCRYPTED)
    more = lint("good.yaml", "secret.yaml", *ONE, "-o", "json")
    cases = lint("good.yaml", "secret.yaml", *ONE, "-o", "junit").stdout

    assert 1 == json.loads(more.stdout)["summary"]["files"]
    assert '<testsuite name="good.yaml"' in cases
    assert '<testsuite name="secret.yaml"' not in cases


def test_a_policy_for_other_workloads(folder: Path) -> None:
    """Workloads out of every scope are told, and are no success where there are no others."""
    policy = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: a}\n"
    (folder / "out.yaml").write_text(f"{policy}spec: {{scope: {{kinds: [StatefulSet]}}}}\n")
    (folder / "stateful.yaml").write_text(
        (folder / "good.yaml").read_text().replace("Deployment", "StatefulSet")
    )
    alone = lint("bad.yaml", *ONE, "--policy", "out.yaml", "-o", "json")
    beside = lint("bad.yaml", "stateful.yaml", *ONE, "--policy", "out.yaml", "-o", "json")

    for result, code, severity, judged in ((alone, 2, "error", 0), (beside, 0, "note", 1)):
        report = json.loads(result.stdout)
        assert (code, judged) == (result.exit_code, report["summary"]["workloads"])
        assert [("out-of-scope", severity)] == [
            (entry["reason"], entry["severity"]) for entry in report["skippedSources"]
        ]


def test_ignored_files_that_cannot_be_read_are_skipped(folder: Path) -> None:
    """They are no findings, but told."""
    report = json.loads(lint(".", "--ignore", "unreadable", "-o", "json").stdout)

    assert ["broken.yaml"] == [entry["file"] for entry in report["skippedSources"]]
    assert "unreadable" not in {finding["rule"] for finding in report["findings"]}


def test_a_baseline_says_what_it_lacks(blind: Path) -> None:
    """It is written, and what was skipped is told."""
    result = lint("charts/shop", "--write-baseline", "b.json")

    assert 2 == result.exit_code
    assert "charts/shop/Chart.yaml: error: chart skipped: " in result.stderr
    assert Path("b.json").is_file()


def test_a_broken_file_holds_nothing_up(folder: Path) -> None:
    """The others are linted, and the broken one is told with its line."""
    output = lint(".", *ONE).output

    assert "bad.yaml:12: error max-skew-not-positive: " in output
    assert "broken.yaml:2: error unreadable: " in output


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(BAD.encode(), id="YAML"),
        pytest.param(b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode(), id="BOM and CRLF"),
        pytest.param(BAD.encode("utf-16"), id="UTF-16"),
        pytest.param(
            b"apiVersion: v1\nkind: List\nitems:\n- " + BAD.replace("\n", "\n  ").strip().encode(),
            id="a List",
        ),
    ],
)
def test_stdin(folder: Path, content: bytes) -> None:
    """Standard input is read however it is written."""
    result = lint("-", *ONE, stdin=content)

    assert 1 == result.exit_code
    assert "<stdin>:1" in result.output


def test_ten_thousand_documents(folder: Path) -> None:
    """A long stream is read, and the last finding has its line."""
    pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: a}]}\n---\n"
    result = lint("-", *ONE, "-o", "json", stdin=pod * 10_000 + BAD)

    report = json.loads(result.stdout)
    assert [40_012] == [finding["line"] for finding in report["findings"]]
    assert 10_001 == report["summary"]["workloads"]


def test_an_alias_bomb(folder: Path) -> None:
    """It is one line, and quick."""
    levels = [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9)]
    result = lint("-", stdin="kind: Pod\na0: &a0 [x]\n" + "\n".join(levels))

    assert 2 == result.exit_code
    assert "aliases expand to more than 100,000 values" in result.output


def test_exemptions(folder: Path) -> None:
    """An exemption holds to its last day; then the finding is back, and the annotation is told."""
    (folder / "bad.yaml").write_text(EXEMPT % "")
    (folder / "later.yaml").write_text(EXEMPT % " (until 9999-12-31)")
    (folder / "over.yaml").write_text(EXEMPT % " (until 2020-01-31)")
    result = lint("bad.yaml", "later.yaml", "over.yaml", *ONE, "-o", "json")

    report = json.loads(result.stdout)
    assert ["over.yaml"] * 2 == [finding["file"] for finding in report["findings"]]
    assert {"max-skew-not-positive", "exemption-without-effect"} == {
        finding["rule"] for finding in report["findings"]
    }
    assert 2 == report["summary"]["suppressed"]


def test_a_baseline_holds_files_that_cannot_be_read(folder: Path) -> None:
    """A fixture that is broken on purpose does not fail every run; another one does."""
    for name in ("broken.yaml", "other.yaml"):
        (folder / name).write_text("apiVersion: v1\nkind: [")
    assert 0 == lint("good.yaml", "broken.yaml", "--write-baseline", "base.json").exit_code

    assert 0 == lint("good.yaml", "broken.yaml", "--baseline", "base.json").exit_code
    assert 2 == lint("good.yaml", "broken.yaml", "other.yaml", "--baseline", "base.json").exit_code


def test_baseline(folder: Path) -> None:
    """Findings of the baseline are left out, though their lines moved; new ones are not."""
    assert 0 == lint("bad.yaml", *ONE, "--write-baseline", "base.json").exit_code
    (folder / "moved.yaml").write_text(f"# a\n# b\n{BAD}")
    (folder / "new.yaml").write_text(BAD.replace("{name: web}", "{name: api}", 1))

    assert 0 == lint("moved.yaml", *ONE, "--baseline", "base.json").exit_code
    assert 1 == lint("new.yaml", *ONE, "--baseline", "base.json").exit_code
    assert 1 == lint("bad.yaml", "moved.yaml", *ONE, "--baseline", "base.json").exit_code
    assert "1 of its findings are gone" in lint("good.yaml", "--baseline", "base.json").stderr


def test_several_reports(folder: Path) -> None:
    """One is printed, the others go to files."""
    result = lint("bad.yaml", *ONE, "-o", "text", "-o", "json=a.json", "-o", "sarif=a.sarif")

    assert 1 == result.exit_code
    assert "bad.yaml:12: " in result.stdout
    assert 1 == len(json.loads((folder / "a.json").read_text())["findings"])
    assert "2.1.0" == json.loads((folder / "a.sarif").read_text())["version"]


def test_a_policy(folder: Path) -> None:
    """A policy changes severities in its scope; outside every scope nothing is asked."""
    policy = """\
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata: {name: a}
spec:
  scope: {kinds: [%s]}
  rules: {max-skew-not-positive: {severity: note}}
"""
    (folder / "in.yaml").write_text(policy % "Deployment")
    (folder / "out.yaml").write_text(policy % "StatefulSet")

    inside = json.loads(lint("bad.yaml", *ONE, "--policy", "in.yaml", "-o", "json").stdout)["findings"]
    outside = json.loads(lint("bad.yaml", *ONE, "--policy", "out.yaml", "-o", "json").stdout)["findings"]
    assert ["note"] == [finding["severity"] for finding in inside]
    assert [] == outside


def test_a_cluster(folder: Path) -> None:
    """With nodes, or with domains in a policy, every rule is asked; else the summary says which were not."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}
    (folder / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))

    assert "not run" in lint("good.yaml").output
    assert "not run" not in lint("good.yaml", "--cluster", "nodes.json").output
    result = lint("good.yaml", "--cluster", "nodes.json", "--select", "topology-key-on-no-node")
    assert 1 == result.exit_code


def test_a_live_cluster(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """With --live the rules get the nodes of the live cluster, and its release, and nothing else is read."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}
    with a_control_plane() as plane:
        plane.objects, plane.version = [node], "v1.25.3"
        plane.kubeconfig(folder)
        commands = Commands(folder, monkeypatch, capsysbinary)
        done = commands.run("lint", "good.yaml", "--live", "-o", "json")
        chosen = commands.run("lint", "good.yaml", "--live", "--kubernetes-version", "1.30", "-o", "json")

    report = json.loads(done.stdout)
    assert (1, "1.25") == (done.code, report["kubernetesVersion"])
    assert "topology-key-on-no-node" in {finding["rule"] for finding in report["findings"]}
    assert "1.30" == json.loads(chosen.stdout)["kubernetesVersion"]
    assert {"/version", "/api/v1/nodes"} == {path.partition("?")[0] for path in plane.paths()}


def test_a_config(folder: Path) -> None:
    """evenkeel.yaml gives what the command line does not, unless nobody is to look for it."""
    text = "apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\nselect: [max-skew-not-positive]\n"
    text += "exclude: [bro*]\n"
    (folder / "evenkeel.yaml").write_text(f"{text}failOn: never\n")

    assert 0 == lint().exit_code
    assert 1 == lint("--fail-on", "error").exit_code
    assert 2 == lint("--config", "none").exit_code


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", "zzz"],
        ["-o", "xml"],
        ["--kubernetes-version", "x"],
        ["--config", "gone.yaml"],
        ["--live", "--cluster", "x"],
        ["--context", "x"],
    ],
)
def test_bad_usage(folder: Path, arguments: list[str]) -> None:
    """Bad usage is a line and exit code 2."""
    done = evenkeel("lint", "good.yaml", *arguments, folder=folder)

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))


def test_a_lint_imports_no_heavy_module(folder: Path) -> None:
    """A lint without a cluster, a policy and charts does not wait for what they need."""
    code = "import sys; sys.argv[0] = 'evenkeel'; from webhook.cli.start import run; run()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, "lint", "bad.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "policies.rules.base" in loaded
    assert set() == loaded & {
        "numpy", "flask", "kubernetes", "cryptography", "jsonschema", "rich", "email.utils", "tarfile",
        "ctypes", "subprocess",
    }  # fmt: skip


#: Three workloads with a finding of one severity each, and the rules that find them.
THREE = "max-skew-not-positive,topology-key-deprecated,revision-key-missing"
OLD = GOOD.replace("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
SOFT = GOOD.replace("DoNotSchedule", "ScheduleAnyway").replace("[pod-template-hash]", "[]")
OF_EACH = f"{BAD}---\n{OLD}---\n{SOFT}"


@pytest.mark.parametrize(
    ("arguments", "code", "shown", "hidden"),
    [
        pytest.param((), 1, 3, 0, id="all"),
        pytest.param(("--min-severity", "note"), 1, 3, 0, id="notes"),
        pytest.param(("--min-severity", "warning"), 1, 2, 1, id="warnings"),
        pytest.param(("--min-severity", "error"), 1, 1, 2, id="errors"),
        pytest.param(("--min-severity", "error", "--ignore", ONE[1]), 0, 0, 2, id="none shown, none fails"),
        pytest.param(
            ("--min-severity", "error", "--fail-on", "note", "--ignore", ONE[1]),
            1,
            0,
            2,
            id="none shown, and fails",
        ),
    ],
)
def test_min_severity(folder: Path, arguments: tuple[str, ...], code: int, shown: int, hidden: int) -> None:
    """Findings below are left out of every report and counted; the exit code is that of --fail-on."""
    (folder / "each.yaml").write_text(OF_EACH)
    result = lint("each.yaml", "-o", "json", "--select", THREE, *arguments)
    report = json.loads(result.stdout)

    assert code == result.exit_code
    assert (shown, hidden) == (len(report["findings"]), report["summary"]["hidden"])
    assert report["summary"]["failed"] is bool(code)
    assert bool(hidden) is ("hidden by --min-severity" in result.stderr)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("good.yaml", "-q"), "", id="nothing found"),
        pytest.param(("bad.yaml", *ONE, "--quiet", "-o", "json=x"), "", id="findings in a file"),
    ],
)
def test_quiet(folder: Path, arguments: tuple[str, ...], expected: str) -> None:
    """A quiet run says nothing where there is nothing, and else no more than was asked for."""
    result = lint(*arguments)

    assert expected == (result.stderr if "bad.yaml" in arguments else result.output)


def test_quiet_prints_findings(folder: Path) -> None:
    """Findings are printed as always."""
    loud, quiet = lint("bad.yaml", *ONE).output, lint("bad.yaml", *ONE, "--quiet").output

    assert quiet
    assert loud.startswith(quiet)
    assert loud != quiet


def test_verbose(folder: Path) -> None:
    """The rules that did not run are counted once, and named on demand."""
    assert "topology-key-on-no-node" not in lint("good.yaml").output
    assert "topology-key-on-no-node" in lint("good.yaml", "-o", "wide").output


BARE = GOOD[: GOOD.index("      topologySpreadConstraints")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param((), 0, id="not enabled"),
        pytest.param(("--enable", "no-spread"), 1, id="enabled"),
        pytest.param(("--select", "no-spread"), 1, id="selected"),
        pytest.param(("--select", "selector-empty", "--enable", "no-spread"), 1, id="enabled besides"),
        pytest.param(("--enable", "no-spread", "--ignore", "no-spread"), 0, id="enabled and ignored"),
        pytest.param(("--policy", "policy.yaml"), 1, id="a policy sets its severity"),
        pytest.param(("--policy", "policy.yaml", "--ignore", "no-spread"), 0, id="of a policy, and ignored"),
        pytest.param(
            ("--policy", "policy.yaml", "--select", "selector-empty"), 0, id="of a policy, not selected"
        ),
        pytest.param(("--policy", "elsewhere.yaml"), 0, id="a policy of another scope sets its severity"),
        pytest.param(("--config", "enabled.yaml"), 1, id="evenkeel.yaml enables it"),
    ],
)
def test_opt_in(folder: Path, arguments: tuple[str, ...], expected: int) -> None:
    """An opt-in rule runs where it is enabled, selected, or in the scope of a policy that names it."""
    (folder / "bare.yaml").write_text(BARE)
    head = "apiVersion: evenkeel.dev/v1alpha1\nkind: "
    policy = f"{head}SpreadPolicy\nmetadata: {{name: %s}}\nspec:\n  rules: {{%s}}\n  scope: {{%s}}\n---\n"
    rule = "no-spread: {severity: warning}"
    (folder / "policy.yaml").write_text(policy % ("mine", rule, ""))
    elsewhere = policy % ("other", rule, "namespaces: [other]") + policy % ("mine", "", "")
    (folder / "elsewhere.yaml").write_text(elsewhere)
    (folder / "enabled.yaml").write_text(f"{head}LintConfig\nenable: [no-spread]\n")
    report = json.loads(lint("bare.yaml", "-o", "json", *arguments).stdout)

    assert expected == [finding["rule"] for finding in report["findings"]].count("no-spread")


def test_a_policy_that_names_no_rule(folder: Path) -> None:
    """A policy may be for another release, so a rule that does not exist is a note."""
    policy = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: mine}\n"
    (folder / "policy.yaml").write_text(policy + "spec: {rules: {selector-emty: {severity: note}}}\n")
    result = lint("good.yaml", "--policy", "policy.yaml")

    assert 0 == result.exit_code
    assert 'did you mean "selector-empty"' in result.stderr
