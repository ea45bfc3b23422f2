"""`evenkeel policy`: checking, showing and describing documents."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from policies.config.form import schema_text
from policies.config.loader import builtin_names
from policies.config.spread_policy import SpreadPolicyDocument
from tests.webhook.cli.in_process import evenkeel
from webhook.cli.policy import command

POLICY = """\
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata:
  name: production
spec:
  enforcement: warn
  defaults:
    constraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
"""
CLEAN = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: clean}\n"
WRONG = CLEAN + "spec: {enforcement: enforce}\n"
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - pluginConfig:
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints:
            - {maxSkew: 7, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
"""
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with one file of each sort."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "policy.yaml": POLICY,
        "clean.yaml": CLEAN,
        "wrong.yaml": WRONG,
        "config.yaml": CONFIG,
        "deployment.yaml": DEPLOYMENT,
        "empty.yaml": "",
        "broken.yaml": "a: b: c",
    }.items():
        (tmp_path / name).write_text(text)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": [service]}))
    (tmp_path / "none").mkdir()
    (tmp_path / "binary.yaml").write_bytes(b"\x7fELF\x02\x01\xff\xfe")
    (tmp_path / "huge.yaml").write_text("a: " + "x" * 3_000_000)
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, arguments, input=stdin)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["clean.yaml"], 0, id="clean"),
        pytest.param(["policy.yaml", "config.yaml"], 0, id="notes and warnings"),
        pytest.param(["builtin:soft-spread"], 0, id="a built-in one"),
        pytest.param(["clean.yaml", "clean.yaml"], 0, id="the same file twice"),
        pytest.param(["wrong.yaml"], 1, id="an error"),
        pytest.param(["clean.yaml", "nope.yaml"], 2, id="no such file"),
        pytest.param(["broken.yaml"], 2, id="no YAML"),
        pytest.param(["binary.yaml"], 2, id="binary"),
        pytest.param(["empty.yaml"], 2, id="empty"),
        pytest.param(["huge.yaml"], 2, id="a line of 3 MB"),
        pytest.param(["deployment.yaml"], 2, id="a Deployment"),
        pytest.param(["builtin:x"], 2, id="no such built-in"),
        pytest.param(["a\x00b"], 2, id="a name that no file can have"),
        pytest.param(["wrong.yaml", "broken.yaml"], 2, id="an error, and no YAML"),
        pytest.param(["policy.yaml", "--scheduler-config", "config.yaml"], 0, id="defaults switched off"),
        pytest.param(["policy.yaml", "--cluster", "cluster.json"], 0, id="no pods are left alone"),
        pytest.param(["none"], 2, id="an empty folder"),
    ],
)
def test_check(folder: Path, arguments: list[str], code: int, wording: Callable[[str], str]) -> None:
    """Every input gets its line and its exit code; nothing but lines with a place goes to stderr."""
    result = run("check", *arguments)

    assert code == result.exit_code
    assert wording(result.output) == result.output
    assert bool(result.stderr) == (code > 0)


def test_check_folder(folder: Path) -> None:
    """A folder is read with all below it; hidden folders and other kinds are passed over."""
    (folder / "below/.git").mkdir(parents=True)
    (folder / "below/clean.yml").write_text(CLEAN)
    (folder / "below/deployment.json").write_text('{"kind": "Deployment"}')
    (folder / "below/.git/broken.yaml").write_text("a: b: c")

    assert 0 == run("check", "below").exit_code


def test_check_folder_with_an_unknown_kind(folder: Path) -> None:
    """A document of Evenkeel's own group is not passed over."""
    (folder / "below").mkdir()
    (folder / "below/clean.yml").write_text(CLEAN)
    (folder / "below/slip.yaml").write_text(CLEAN.replace("SpreadPolicy", "SpreadPolicies"))
    (folder / "below/list.yaml").write_text("[1]")
    result = run("check", "below")

    assert 2 == result.exit_code
    assert [True] == [line.startswith("below/slip.yaml:") for line in result.stderr.splitlines()]


KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec: {weight: 5, template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a}
---
apiVersion: evenkeel.dev/v1alpha1
kind: InstanceTypes
instanceTypes:
- {name: small, allocatable: {cpu: "4", memory: 8Gi}, offerings: [{zones: [a]}]}
"""
GROUPS = """\
apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroups
groups: [{name: web-a, zone: a, maxSize: 2, allocatable: {cpu: "4", memory: 8Gi}}]
"""


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        pytest.param({}, [], id="right"),
        pytest.param(
            {"weight: 5": "weight: heavy", 'cpu: "4"': "cpu: much", "name: general": "name: 3"},
            [
                "pools.yaml:3: metadata.name",
                "pools.yaml:4: spec.weight",
                "pools.yaml:13: instanceTypes[0].allocatable[cpu]",
            ],
            id="3 errors in 2 documents",
        ),
        pytest.param({"sh/v1\n": "sh/v1beta1\n"}, ["pools.yaml:1: apiVersion"], id="another version"),
        pytest.param(
            {"karpenter.sh/v1": "hypershift.openshift.io/v1"}, ["pools.yaml:2: kind"], id="not Karpenter's"
        ),
    ],
)
def test_check_node_pools(folder: Path, change: dict[str, str], errors: list[str]) -> None:
    """Descriptions of an autoscaler's nodes are checked, with every error and its line."""
    text = KARPENTER
    for old, new in change.items():
        text = text.replace(old, new)
    (folder / "pools.yaml").write_text(text)
    (folder / "groups.yaml").write_text(GROUPS)
    result = run("check", "pools.yaml", "groups.yaml")

    assert errors == [": ".join(line.split(": ")[:2]) for line in result.stderr.splitlines()]
    assert errors or result.stdout == "3 documents checked, no errors\n"


def test_check_one_autoscaler_a_file(folder: Path) -> None:
    """A file has NodePools or NodeGroups, since --autoscale takes one file; a folder may have both."""
    (folder / "below").mkdir()
    (folder / "below/pools.yaml").write_text(KARPENTER)
    (folder / "below/groups.yaml").write_text(GROUPS)
    (folder / "both.yaml").write_text(f"{KARPENTER}---\n{GROUPS}")

    assert (0, 1) == (run("check", "below").exit_code, run("check", "both.yaml").exit_code)
    assert "give those of one of them" in run("check", "both.yaml").stderr


def test_check_stdin(folder: Path) -> None:
    """A dash is standard input."""
    result = run("check", "-", stdin=WRONG)

    assert 1 == result.exit_code
    assert result.stderr.startswith("<stdin>:4: spec.enforcement: ")


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--fail-on", "warning"], 1)])
def test_fail_on(folder: Path, arguments: list[str], code: int) -> None:
    """Warnings make the exit code 1 only where that is asked."""
    assert code == run("check", "policy.yaml", *arguments).exit_code


def test_check_json(folder: Path) -> None:
    """JSON goes to stdout, errors included, and has a version."""
    result = run("check", "wrong.yaml", "broken.yaml", "-o", "json")
    report = json.loads(result.stdout)

    assert ("", 1, 1, 2) == (result.stderr, report["version"], report["documents"], result.exit_code)
    assert [("broken.yaml", 1, "unreadable"), ("wrong.yaml", 4, "value-invalid")] == [
        (finding["file"], finding["line"], finding["rule"]) for finding in report["findings"]
    ]


def recorded_arguments() -> list[Any]:
    """Return some plugin arguments with what kube-scheduler says of them."""
    path = Path(__file__).parents[2] / "data/validation.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["op"] == "validate-args"]
    # An empty defaultingType is only an error where no version has filled it in.
    wanted = [case for case in cases if case["errors"] and case["args"].get("defaultingType")]
    return [pytest.param(case["args"], case["errors"], id=case["name"]) for case in wanted[:12]]


@pytest.mark.parametrize(("arguments", "errors"), recorded_arguments())
def test_scheduler_config_vectors(folder: Path, arguments: dict[str, Any], errors: list[str]) -> None:
    """Errors of kube-scheduler in plugin arguments are reported with the line of the field."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}]}],
    }
    (folder / "c.yaml").write_text(yaml.safe_dump(config, default_flow_style=False))
    result = run("check", "c.yaml")

    prefix = "profiles[0].pluginConfig[0].args."
    found = [line.split(": ")[:2] for line in result.stderr.splitlines()]
    assert 1 == result.exit_code
    assert sorted(prefix + error.split(": ")[0] for error in errors) == sorted(path for _, path in found)
    lines = (folder / "c.yaml").read_text().splitlines()
    for place, path in found:
        line = lines[int(place.partition(":")[2]) - 1]
        assert path.rpartition(".")[2].partition("[")[0] in line or line.lstrip().startswith("- ")


def test_show_lists_the_builtin_documents() -> None:
    """Without arguments each built-in document has a line."""
    result = run("show")

    assert builtin_names() == [line.split()[0] for line in result.stdout.splitlines()]
    assert all(line.endswith(".") and len(line.split()) > 4 for line in result.stdout.splitlines())


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_show(folder: Path, form: str) -> None:
    """A policy is printed with its defaults filled in, as a document that passes the check."""
    result = run("show", "policy.yaml", "-o", form)
    shown = yaml.safe_load(result.stdout)

    assert (0, "pods", "policy") == (
        result.exit_code,
        shown["spec"]["defaults"]["at"],
        shown["spec"]["defaults"]["source"],
    )
    assert 0 == run("check", "-", stdin=result.stdout).exit_code


def test_show_several(folder: Path) -> None:
    """Several policies are one stream of YAML or of JSON, which ``policy check`` reads again."""
    names = ["soft-spread", "builtin:audit", "policy.yaml"]

    assert ["soft-spread", "audit", "production"] == [
        document["metadata"]["name"] for document in yaml.safe_load_all(run("show", *names).stdout)
    ]
    (folder / "shown.json").write_text(run("show", *names, "-o", "json").stdout)
    assert 0 == run("check", "shown.json").exit_code


def test_schema() -> None:
    """The printed schema is the checked-in one."""
    assert schema_text(SpreadPolicyDocument).decode() == run("schema").stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["show", "nope.yaml"], 2, id="show nothing"),
        pytest.param(
            ["check", "clean.yaml", "--scheduler-config", "clean.yaml"],
            2,
            id="a policy as the scheduler's configuration",
        ),
        pytest.param(["check", "clean.yaml", "--cluster", "nope"], 2, id="no cluster"),
        pytest.param(["check", "."], 2, id="a folder full of rubbish"),
        pytest.param(["schema"], 0, id="the schema"),
    ],
)
def test_as_a_program(folder: Path, arguments: list[str], code: int, wording: Callable[[str], str]) -> None:
    """The installed command ends with lines of text, never with a traceback, and without colors."""
    done = evenkeel("policy", *arguments, folder=folder, environment={"NO_COLOR": "1"})

    assert code == done.returncode
    assert b"\x1b" not in done.stdout + done.stderr
    assert wording(done.stderr.decode()) == done.stderr.decode()


def test_a_process_of_its_own(folder: Path) -> None:
    """It prints what the other tests see."""
    command = [sys.executable, "-c", "from webhook.cli.start import run; run()", "policy", "check", "."]
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder)
    here = evenkeel("policy", "check", ".", folder=folder)

    assert (here.returncode, here.stdout, here.stderr) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        pytest.param(("show", "nosuch"), True, id="show"),
        pytest.param(("show", "builtin:nosuch"), True, id="show with the prefix"),
        pytest.param(("check", "nosuch"), True, id="check"),
        pytest.param(("show", "nosuch.yaml"), False, id="a file's name"),
        pytest.param(("show", "below/nosuch"), False, id="a path"),
    ],
)
def test_builtin_names_where_one_may_be_meant(folder: Path, arguments: tuple[str, ...], hint: bool) -> None:  # noqa: FBT001
    """Who types a name that is no file reads which documents are built in."""
    result = run(*arguments)
    told = result.stderr + str(result.exception)

    assert hint is all(name in told for name in builtin_names())
