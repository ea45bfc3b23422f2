"""``evenkeel plan``, as a person and as a program uses it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from docs.generator.published import report_schemas
from tests.builders import a_constraint, a_pod
from tests.planning.autoscaled import groups, needing
from tests.planning.planned import NODES, SPREAD, a_deployment, running
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.cli.live import Commands
from tests.webhook.http.authorization.control_plane import a_control_plane
from tests.webhook.lint.git import commit_all, git, make_repository

COMMAND = [sys.executable, "-c", "from webhook.cli.start import run; run()", "plan"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose Deployment spreads over zones since its last commit, and the nodes of a cluster."""
    files = {"deploy/web.yaml": yaml.safe_dump(a_deployment(3)), "deploy/old.yaml": _old()}
    root = make_repository(tmp_path / "repository", files)
    (root / "deploy/web.yaml").write_text(yaml.safe_dump(a_deployment(6, spec=SPREAD)))
    (root / "deploy/old.yaml").unlink()
    (root / "deploy/new.yaml").write_text(yaml.safe_dump(a_deployment(1, "new")))
    commit_all(root)
    _write_cluster(root / "cluster.json", *running("n1", "n1", "n1"))
    return root


def _old() -> str:
    return yaml.safe_dump(a_deployment(1, "old"))


def _write_cluster(file: Path, *objects: dict[str, Any]) -> None:
    file.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))


@dataclass(frozen=True)
class _Done:
    """The outcome of a command."""

    returncode: int
    stdout: str
    stderr: str


#: Runs the command in a folder with arguments; ``cluster`` is the snapshot, None for no such option.
_Plan = Callable[..., _Done]


@pytest.fixture(name="plan")
def plan_fixture(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> _Plan:
    """Return a function that runs the command in this process."""

    def run(root: Path, *arguments: str, cluster: str | None = "cluster.json") -> _Done:
        given = [] if cluster is None else ["--cluster", cluster]
        done = Commands(root, monkeypatch, capsysbinary).run("plan", *given, *arguments)
        return _Done(done.code, done.stdout.decode(), done.stderr.decode())

    return run


def _actions(done: _Done) -> list[str]:
    return re.findall(r"^([-+~/]+ \S+ shop/\S+?)(?::|$)", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_formats(plan: _Plan, golden: Callable[[str, str], str], root: Path, form: str) -> None:
    """Two revisions of a repository."""
    done = plan(root, "--from", "HEAD~1", "deploy", "-o", form)

    assert "" == done.stderr
    assert golden(f"plan.{form}", done.stdout) == done.stdout
    assert 0 == done.returncode


def test_json_is_of_the_form(plan: _Plan, root: Path) -> None:
    """YAML is the same as JSON, and the schema describes both."""
    as_json = json.loads(plan(root, "--from", "HEAD~1", "deploy", "-o", "json").stdout)
    as_yaml = yaml.safe_load(plan(root, "--from", "HEAD~1", "deploy", "-o", "yaml").stdout)
    jsonschema.Draft202012Validator(report_schemas()["planning/schemas/plan.schema.json"]).validate(as_json)

    assert as_json == as_yaml


def test_files(plan: _Plan, root: Path) -> None:
    """Each format may go to a file of its own."""
    done = plan(root, "--from", "HEAD~1", "deploy", "-o", "text", "-o", "markdown=plan.md")

    assert done.stdout.splitlines()[-1].startswith("Plan: ")
    assert (root / "plan.md").read_text().startswith("<!-- evenkeel plan -->\n")


@pytest.mark.parametrize(
    ("arguments", "code", "stderr"),
    [
        pytest.param(["--from", "HEAD", "deploy"], 0, "", id="0: nothing changes"),
        pytest.param(["--from", "nope", "deploy"], 2, "neither a file, a folder nor", id="2: no revision"),
        pytest.param(["--from", "HEAD", "gone"], 2, "gone: neither here nor in HEAD", id="2: no path"),
        pytest.param(["--from", "deploy", "gone"], 2, "gone: No such file", id="2: no path but a folder"),
        pytest.param(["deploy/new.yaml"], 2, "--from GITREV", id="2: nothing to compare with"),
        pytest.param(["--from", "HEAD", "-"], 2, "standard input", id="2: a revision of standard input"),
        pytest.param(["--from", "HEAD", "-o", "sarif", "deploy"], 2, "--format", id="2: no format"),
        pytest.param(["--from", "HEAD", "--live", "deploy"], 2, "--live", id="2: two clusters"),
    ],
)
def test_exit_codes(plan: _Plan, root: Path, arguments: list[str], code: int, stderr: str) -> None:
    """Errors are lines."""
    done = plan(root, *arguments)

    assert code == done.returncode, done.stderr
    assert stderr in done.stderr
    assert bool(stderr) == bool(done.stderr)
    assert "Traceback" not in done.stderr


def test_pending_pods_fail(plan: _Plan, root: Path) -> None:
    """Seven pods of 2 CPUs fit on three nodes of 4 up to the sixth."""
    big = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}
    (root / "deploy/big.yaml").write_text(yaml.safe_dump(a_deployment(7, "big", spec=big)))
    done = plan(root, "--from", "HEAD", "deploy")

    assert 1 == done.returncode
    assert "6 of 7 run: none of 3 nodes takes it: 3 short of cpu" in done.stdout
    assert "1 pod pending; 1 workload not well (1 pending)" in done.stdout


def test_nodes_come_for_pending_pods(plan: _Plan, root: Path) -> None:
    """With --autoscale the exit code is that with the nodes that come, and a bad file is named."""
    (root / "groups.yaml").write_text(yaml.safe_dump(groups(a=9, b=9, c=9)[0]))
    (root / "deploy/web.yaml").write_text(yaml.safe_dump(a_deployment(6, spec=needing("3", **SPREAD))))
    without = plan(root, "--from", "cluster", "deploy")
    found = plan(root, "--from", "cluster", "--autoscale", "groups.yaml", "-o", "json", "deploy")
    answer = json.loads(found.stdout)

    assert (1, 0) == (without.returncode, found.returncode)
    assert all(not each["pending"] for each in answer["outcome"]["workloads"])
    assert answer["outcome"]["nodes"]["added"]
    assert "web.yaml" in plan(root, "--autoscale", "deploy/web.yaml", "deploy").stderr


def test_what_is_not_read(plan: _Plan, root: Path) -> None:
    """A plan without what was named is incomplete; what lint may skip, a plan may as well."""
    (root / "deploy/secret.yaml").write_text("$ANSIBLE_VAULT;1.1;AES256\n6130\n")
    (root / "empty").mkdir()
    (root / "empty/Chart.yaml").write_text("is: [no chart\n")
    allowed = plan(root, "--from", "HEAD", "deploy")
    named = plan(root, "--from", "HEAD", "empty")
    never = plan(root, "--from", "HEAD", "empty", "--fail-on-skipped", "never")

    assert [0, 2, 0] == [done.returncode for done in (allowed, named, never)]
    assert "Not read: deploy/secret.yaml" in allowed.stdout
    assert "incomplete" in named.stdout


def test_a_file_that_cannot_be_read(plan: _Plan, root: Path) -> None:
    """It leaves the plan incomplete, whether it was readable before or not, unless lint ignores it, too."""
    (root / "deploy/broken.yaml").write_text("kind: Deployment\na: b: c\n")
    new = plan(root, "--from", "HEAD", "deploy")
    commit_all(root)
    known = plan(root, "--from", "HEAD", "deploy")
    ignored = plan(root, "--from", "HEAD", "deploy", "--ignore", "unreadable")
    (root / "deploy/broken.yaml").unlink()
    repaired = plan(root, "--from", "HEAD", "deploy")

    assert [2, 2, 0, 0] == [done.returncode for done in (new, known, ignored, repaired)]
    assert ["Not read: deploy/broken.yaml:2" in done.stdout for done in (new, known, ignored, repaired)] == [
        True
    ] * 4


def test_no_cluster(plan: _Plan, root: Path) -> None:
    """A cluster is needed; evenkeel.yaml may name it."""
    without = plan(root, "--from", "HEAD", "deploy", cluster=None)
    config = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "LintConfig", "cluster": "cluster.json"}
    (root / "evenkeel.yaml").write_text(yaml.safe_dump(config))
    named = plan(root, "--from", "HEAD", "deploy", cluster=None)

    assert (2, True) == (without.returncode, "--cluster FILE" in without.stderr)
    assert (0, "") == (named.returncode, named.stderr)


def test_a_folder(plan: _Plan, root: Path) -> None:
    """The other set may be a folder."""
    (root / "before").mkdir()
    (root / "before/web.yaml").write_text(yaml.safe_dump(a_deployment(6, spec=SPREAD)))

    assert ["+ Deployment shop/new"] == _actions(plan(root, "--from", "before", "deploy"))


def test_both_a_path_and_a_revision(plan: _Plan, root: Path) -> None:
    """Which is meant must be said."""
    (root / "main").mkdir()
    done = plan(root, "--from", "main", "deploy")

    assert (2, True) == (done.returncode, "./main for the path" in done.stderr)
    assert 0 == plan(root, "--from", "refs/heads/main", "deploy").returncode


def test_the_workloads_of_the_cluster(plan: _Plan, root: Path) -> None:
    """Running workloads are compared with the manifests; those that these do not have are left alone."""
    _write_cluster(root / "cluster.json", a_deployment(3), a_deployment(1, "else"), *running("n1"))
    done = plan(root, "deploy")

    assert ["~ Deployment shop/web", "+ Deployment shop/new"] == _actions(done)
    assert "left alone" in done.stdout


def test_pods_of_helm_test(plan: _Plan, root: Path) -> None:
    """Nobody makes them when a release is upgraded; other hooks are run then."""
    for name, hook in (("tried", "test"), ("moved", "pre-upgrade")):
        pod = a_pod(name=name, namespace="shop", annotations={"helm.sh/hook": hook})
        (root / f"deploy/{name}.yaml").write_text(yaml.safe_dump(pod))

    assert ["+ Pod shop/moved"] == _actions(plan(root, "--from", "HEAD", "deploy"))


def test_a_live_cluster(plan: _Plan, root: Path) -> None:
    """It is read with the user's own rights, and is what the manifests are compared with by default."""
    with a_control_plane() as plane:
        plane.objects = [*NODES, *running("n1", "n2")]
        plane.kubeconfig(root)
        new = plan(root, "--live", "--from", "HEAD~1", "deploy", cluster=None)

    assert ["- Deployment shop/old", "~ Deployment shop/web", "+ Deployment shop/new"] == (_actions(new))
    assert "all 6 run" in new.stdout


def test_a_shallow_clone(plan: _Plan, root: Path) -> None:
    """The error for a missing revision names the fetch depth that it needs."""
    commit = git(root, "rev-parse", "HEAD").strip()
    (root / ".git/shallow").write_text(f"{commit}\n")
    done = plan(root, "--from", "HEAD~1", "deploy")

    assert (2, True) == (done.returncode, "fetch-depth: 0" in done.stderr)


def test_from_below(plan: _Plan, root: Path) -> None:
    """The paths count from the working folder, in the revision too."""
    inside = plan(root / "deploy", "--from", "HEAD~1", ".", cluster="../cluster.json")

    assert _actions(plan(root, "--from", "HEAD~1", "deploy")) == _actions(inside)


def test_the_policy_of_the_revision(plan: _Plan, root: Path) -> None:
    """Each revision is judged by its own policy, which evenkeel.yaml or an option names."""
    policy = {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": "spread"},
        "spec": {
            "defaults": {
                "at": "workloads",
                "constraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
            }
        },
    }
    (root / "policy.yaml").write_text(yaml.safe_dump(policy))
    done = plan(root, "--from", "HEAD", "deploy", "--policy", "policy.yaml")

    assert ["~ Deployment shop/new"] == _actions(done)
    commit_all(root)

    assert [] == _actions(plan(root, "--from", "HEAD", "deploy", "--policy", "policy.yaml"))


def test_findings(plan: _Plan, root: Path) -> None:
    """A new error fails the plan; one that is gone does not."""
    selector = {"matchLabels": {"app": "api"}}
    wrong = a_deployment(6, spec={"topologySpreadConstraints": [a_constraint(labelSelector=selector)]})
    (root / "deploy/web.yaml").write_text(yaml.safe_dump(wrong))
    new = plan(root, "--from", "HEAD", "deploy")
    commit_all(root)
    (root / "deploy/web.yaml").write_text(yaml.safe_dump(a_deployment(6, spec=SPREAD)))
    gone = plan(root, "--from", "HEAD", "deploy")

    assert (1, True) == (new.returncode, "[selector-misses-own-pod]" in new.stdout)
    assert (0, True) == (gone.returncode, "[selector-misses-own-pod]" in gone.stdout)


@pytest.fixture
def overlays(tmp_path: Path) -> Path:
    """A repository with three overlays, two of which build the same; all change with their base."""
    soft = {"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway")]}
    base = a_deployment(3, spec=soft)
    files = {
        "base/web.yaml": yaml.safe_dump(base),
        "base/kustomization.yaml": "resources: [web.yaml]\n",
        "overlays/a/kustomization.yaml": "resources: [../../base]\n",
        "overlays/b/kustomization.yaml": "resources: [../../base]\n",
        "overlays/c/kustomization.yaml": ("resources: [../../base]\nreplicas: [{name: web, count: 5}]\n"),
    }
    root = make_repository(tmp_path / "overlays", files)
    _write_cluster(root / "cluster.json", *running("n1", "n2", "n3"))
    (root / "base/web.yaml").write_text(yaml.safe_dump(a_deployment(6, spec=SPREAD)))
    commit_all(root)
    return root


def test_overlays(plan: _Plan, overlays: Path) -> None:
    """Equal builds are planned once, different ones separately; nothing is left unplanned."""
    done = plan(overlays, "--from", "HEAD~1", "overlays", "-o", "json")
    found = json.loads(done.stdout)

    assert (0, 2, 0) == (done.returncode, found["summary"]["change"], found["summary"]["unplanned"])
    assert [
        ["overlays/a/kustomization.yaml", "overlays/b/kustomization.yaml"],
        ["overlays/c/kustomization.yaml"],
    ] == [change["builds"] for change in found["changes"]]
    outcomes = found["outcome"]["outcomes"]
    assert [6, 5] == [
        outcomes[change["alternative"]]["workloads"][0]["wanted"] for change in found["changes"]
    ]


def test_a_changed_workload_with_placeholders(plan: _Plan, root: Path) -> None:
    """A changed workload that cannot be planned is no success."""
    open_ended = yaml.safe_dump(a_deployment(3, spec=SPREAD)).replace("maxSkew: 1", "maxSkew: ${SKEW}")
    (root / "deploy/web.yaml").write_text(open_ended)
    done = plan(root, "--from", "HEAD", "deploy", "-o", "markdown")

    assert 1 == done.returncode
    assert "1 changed workload not planned" in done.stdout.splitlines()[1]
    assert "✅" not in done.stdout


def test_a_finding_becomes_worse(plan: _Plan, root: Path) -> None:
    """A note on a soft constraint is a warning once it is hard."""
    web = root / "deploy/web.yaml"
    constraint = a_constraint(labelSelector={"matchLabels": {"app": "web"}})
    for when in ("ScheduleAnyway", "DoNotSchedule"):
        spec = {"topologySpreadConstraints": [constraint | {"whenUnsatisfiable": when}]}
        web.write_text(yaml.safe_dump(a_deployment(6, spec=spec)))
        commit_all(root)
    found = json.loads(plan(root, "--from", "HEAD~1", "deploy", "-o", "json").stdout)

    assert [("revision-key-missing", "note", "warning")] == [
        (raised["rule"], raised["severityBefore"], raised["severity"]) for raised in found["raisedFindings"]
    ]
    assert [] == found["newFindings"]


def test_the_end_by_ctrl_c(root: Path, tmp_path: Path) -> None:
    """The files of the revision are removed, and there is no traceback."""
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "kubectl").write_text('#!/bin/sh\n: > "$HOME/started"\nexec /bin/sleep 60\n')
    (slow / "kubectl").chmod(0o755)
    (root / "deploy/kustomization.yaml").write_text("resources: [web.yaml]\n")
    commit_all(root)
    (root / "deploy/kustomization.yaml").unlink()
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "--cluster", "cluster.json", "--from", "HEAD", "deploy"],
        cwd=root,
        env={**os.environ, "TMPDIR": str(folder), "PATH": f"{slow}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Once kustomize runs, the revision is there.
    eventually(lambda: list(folder.glob("evenkeel-home-*/started")))
    assert list(folder.glob("evenkeel-revision-*/deploy/*"))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)

    assert 130 == process.returncode
    assert "Traceback" not in stderr
    assert not list(folder.glob("evenkeel-*"))


def test_nothing_is_left(plan: _Plan, root: Path) -> None:
    """Nor after a plan that ends by itself."""
    before = set(Path(tempfile.gettempdir()).glob("evenkeel-revision-*"))
    plan(root, "--from", "HEAD~1", "deploy")

    assert before == set(Path(tempfile.gettempdir()).glob("evenkeel-revision-*"))
