"""A run that judges nothing is no success: in no command of manifests, and in no format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.deploy.manifests import tool
from tests.planning.planned import NODES, a_deployment
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.lint.git import make_repository
from webhook.lint.reports import FORMATS, PAGE, PLAN_FORMATS

# Programs are started: git and helm.
pytestmark = pytest.mark.slow

#: Options that give the smallest file of the corpus.
TABLES = ("--corpus", str(Path(__file__).parents[2] / "conformance" / "unit-tables.jsonl"))
#: Options that give a cluster to what needs one; its one workload is in no manifest.
CLUSTER = ("--cluster", "cluster.json")
POLICY = """\
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata: {name: elsewhere}
spec:
  scope: {namespaces: [elsewhere]}
  rules: {max-skew-not-positive: {severity: warning}}
"""
EXCLUDING = "apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\nexclude: [excluded]\n"
WEB = yaml.safe_dump(a_deployment(3))
FILES = {
    ".gitignore": "ignored/x/\n",
    "evenkeel.yaml": EXCLUDING,
    "policies/policy.yaml": POLICY,
    "web.yaml": WEB,
    "excluded/web.yaml": WEB,
    "ignored/.keep": "",
    "empty/.keep": "",
    "encrypted/secret.yaml": "$ANSIBLE_VAULT;1.1;AES256\n6130\n",
    "values/values.yaml": "replicas: 3\n",
    "comment/a.yaml": "# nothing yet\n",
    "library/Chart.yaml": "apiVersion: v2\nname: library\nversion: 1.0.0\ntype: library\n",
    "library/templates/_name.tpl": '{{ define "name" }}a{{ end }}',
    "cluster.json": json.dumps({"kind": "List", "items": [*NODES, a_deployment(1, "other")]}),
}
#: The arguments of each case, by its name: they leave nothing to evaluate.
GIVEN = {
    "an empty folder": ("empty",),
    "a folder that is excluded": ("excluded",),
    "a folder of what Git ignores": ("ignored",),
    "a folder of what is encrypted": ("encrypted",),
    "a folder without objects": ("values",),
    "a file without objects": ("values/values.yaml",),
    "a comment": ("comment",),
    "a chart that renders to nothing": ("library",),
    "a chart, and --helm off": ("library", "--helm", "off"),
    "no rule that can run": ("web.yaml", "--select", "single-domain"),
    "no rule": ("web.yaml", "--select", "single-domain", "--ignore", "single-domain"),
    "no workload in scope": ("web.yaml", "--policy", "policies/policy.yaml"),
}


@pytest.fixture(autouse=True)
def with_helm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a machine with helm."""
    monkeypatch.setenv("PATH", f"{Path(tool('helm')).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all of it."""
    root = make_repository(tmp_path_factory.mktemp("nothing") / "repository", FILES)
    (root / "ignored/x").mkdir()
    (root / "ignored/x/web.yaml").write_text(WEB)
    return root


def _in_all(folder: Path, forms: Iterable[str], *arguments: str, root: Path) -> tuple[int, dict[str, str]]:
    """Return how a command ends that writes each of its formats, and what it writes where it writes any."""
    files = {form: folder / form for form in forms}
    options = [word for form, file in files.items() for word in ("-o", f"{form}={file}")]
    done = evenkeel(*arguments, *options, folder=root)

    assert b"" == done.stdout
    assert done.stderr or all(file.exists() for file in files.values())
    return done.returncode, {form: file.read_text() for form, file in files.items() if file.exists()}


def _reported(text: str, form: str) -> Iterator[str]:
    """Yield the messages of a lint report that nothing was evaluated."""
    if form in {"json", "yaml"}:
        report = json.loads(text) if form == "json" else yaml.safe_load(text)
        assert report["summary"]["failed"]
        assert 0 == report["summary"]["workloads"]
        yield from (each["message"] for each in report["skippedSources"] if "error" == each["severity"])
    elif form == "sarif":
        (invocation,) = json.loads(text)["runs"][0]["invocations"]
        assert not invocation["executionSuccessful"]
        yield from (
            each["message"]["text"]
            for each in invocation["toolExecutionNotifications"]
            if "error" == each["level"]
        )
    elif form == "junit":
        yield from (error.get("message", "") for error in ET.fromstring(text).iter("error"))  # ours
    elif form == "github":
        yield from (line for line in text.splitlines() if line.startswith("::error "))
    elif form == PAGE:
        yield from (line for line in text.splitlines() if '"failed":true' in line.replace(" ", ""))
    else:
        yield from (line for line in text.splitlines() if "error" in line and "skipped" in line)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_lint(root: Path, tmp_path: Path, given: tuple[str, ...]) -> None:
    """It ends with 2, and every report says why; where no rule can run there is none."""
    code, reports = _in_all(tmp_path, (*FORMATS, PAGE), "lint", *given, root=root)

    assert 2 == code
    assert (set() if "--select" in given else {*FORMATS, PAGE}) == reports.keys()
    assert [] == [form for form, text in reports.items() if not list(_reported(text, form))]


@pytest.mark.parametrize("option", ["--fix", "--diff"])
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_fix(root: Path, given: tuple[str, ...], option: str) -> None:
    """It ends with 2 and says why."""
    if "--helm" in given:
        given = given[:1]  # It renders no charts anyway.
    done = evenkeel("lint", *given, option, folder=root)

    assert (2, b"") == (done.returncode, done.stdout), done.stderr
    assert b"skipped" in done.stderr or "--select" in given


@pytest.mark.parametrize("before", ["HEAD", "cluster"])
@pytest.mark.parametrize("given", [given for given in GIVEN.values() if given[0] != "web.yaml"], ids=" ".join)
def test_plan(root: Path, tmp_path: Path, given: tuple[str, ...], before: str) -> None:
    """It ends with 2 if nothing was read, and no report is good."""
    code, reports = _in_all(tmp_path, PLAN_FORMATS, "plan", "--from", before, *CLUSTER, *given, root=root)

    assert 2 == code
    assert set(PLAN_FORMATS) == reports.keys()
    for form, text in reports.items():
        assert "✅" not in text
        if form in ("json", "yaml"):
            assert yaml.safe_load(text)["summary"]["incomplete"]
        else:
            assert "no workload was read" in " ".join(text.split()), form


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("given", ["empty", "excluded", "encrypted", "values", "comment", "web.yaml"])
def test_policy_check(root: Path, given: str, form: str) -> None:
    """Files without a policy are no policies without errors."""
    done = evenkeel("policy", "check", given, "-o", form, folder=root)

    assert 2 == done.returncode
    if form == "json":
        report = json.loads(done.stdout)
        assert (0, True) == (report["documents"], bool(report["findings"]))


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
@pytest.mark.parametrize("happens", [("--release", "1.36"), ("--lose-each", "hostname")], ids=" ".join)
@pytest.mark.parametrize("given", [(*CLUSTER, "-n", "nowhere"), ("--cluster", "nodes.json")])
def test_what_if(root: Path, given: tuple[str, ...], happens: tuple[str, str], form: str) -> None:
    """In a namespace without a workload, and in a cluster without any, nothing can happen."""
    (root / "nodes.json").write_text(json.dumps({"kind": "List", "items": NODES}))
    done = evenkeel("what-if", "--kubernetes-version", "1.33", *happens, *given, "-o", form, folder=root)

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"no workload" in done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("given", "code"),
    [
        pytest.param(("--corpus", "none.jsonl"), 2, id="no case"),
        pytest.param((*TABLES, "--case", "nothing"), 2, id="no such case"),
        pytest.param(
            (*TABLES, "--case", "filter 1: no pods", "--against", "cat"), 3, id="nothing is answered"
        ),
    ],
)
def test_conformance(root: Path, given: tuple[str, ...], code: int, form: str) -> None:
    """No case that was compared is no conformance."""
    (root / "none.jsonl").write_text("")
    done = evenkeel("conformance", *given, "-o", form, folder=root)

    assert code == done.returncode, done.stderr
