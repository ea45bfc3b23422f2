"""Revisions of repositories of strangers: no file outside is read, and nothing outside is written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.planning.planned import NODES, a_deployment
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.lint.git import commit_all, make_repository

CONFIG = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "LintConfig"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the repository, with a manifest and a policy that are nobody's business."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.yaml").write_text(yaml.safe_dump(a_deployment(3, "secret")))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a manifest."""
    return make_repository(tmp_path / "repository", {"deploy/web.yaml": yaml.safe_dump(a_deployment(1))})


def _plan(
    root: Path, *arguments: str, folder: str = ".", temporary: Path | None = None
) -> subprocess.CompletedProcess[str]:
    cluster = root.parent / "cluster.json"
    cluster.write_text(json.dumps({"kind": "List", "items": NODES}))
    environment = {} if temporary is None else {"TMPDIR": str(temporary)}
    given = ["plan", "--from", "HEAD", "--cluster", str(cluster), "-o", "json", *arguments]
    done = evenkeel(*given, folder=root / folder, environment=environment)
    return subprocess.CompletedProcess(given, done.returncode, done.stdout.decode(), done.stderr.decode())


def _rewrite(root: Path, name: str) -> None:
    """Make the work tree what the user has: the revision alone has the odd file."""
    (root / name).unlink()


@pytest.mark.parametrize("name", ["deploy/secret.yaml", "deploy/kustomization.yaml", "deploy/.gitignore"])
def test_a_link_to_a_file(root: Path, outside: Path, name: str) -> None:
    """It is named as skipped or ignored, and what it leads to is not read."""
    (root / name).symlink_to(outside / "secret.yaml")
    commit_all(root)
    _rewrite(root, name)
    done = _plan(root, "deploy")

    assert "shop" not in done.stdout or 'secret",' not in done.stdout
    assert [] == json.loads(done.stdout)["changes"]


def test_a_link_in_place_of_the_path(root: Path, outside: Path) -> None:
    """A path that is a link out of the repository in the revision is taken as missing there."""
    (root / "other").symlink_to(outside)
    commit_all(root)
    _rewrite(root, "other")
    (root / "other").mkdir()
    (root / "other/web.yaml").write_text(yaml.safe_dump(a_deployment(1, "new")))
    found = json.loads(_plan(root, "other").stdout)["changes"]

    assert [("add", "new")] == [(change["action"], change["name"]) for change in found]


def test_a_link_in_place_of_the_working_folder(root: Path, outside: Path) -> None:
    """The revision cannot have the command work, or make folders, elsewhere."""
    (root / "here").symlink_to(outside)
    commit_all(root)
    _rewrite(root, "here")
    (root / "here/below").mkdir(parents=True)
    done = _plan(root, "../../deploy", folder="here/below")

    assert (2, "") == (done.returncode, done.stdout)
    assert ["secret.yaml"] == [file.name for file in outside.iterdir()]


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    "field", [{"policies": ["../outside/secret.yaml"]}, {"schedulerConfig": "/etc/passwd"}]
)
def test_a_configuration_that_names_other_files(root: Path, field: dict[str, object]) -> None:
    """The evenkeel.yaml of a revision may name files of the repository only."""
    (root / "evenkeel.yaml").write_text(yaml.safe_dump(CONFIG | field))
    commit_all(root)
    _rewrite(root, "evenkeel.yaml")
    done = _plan(root, "deploy")

    assert (2, "") == (done.returncode, done.stdout)
    assert "must be in this repository" in done.stderr
    assert "root:" not in done.stderr


def test_a_configuration_above_the_revision(root: Path, tmp_path: Path) -> None:
    """Files are extracted below a folder that other users may write to: nothing above is looked at."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "evenkeel.yaml").write_text("is: [no configuration\n")
    done = _plan(root, "deploy", temporary=shared)

    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("way", ["alternates", "file"])
def test_another_repository_s_objects(root: Path, tmp_path: Path, way: str) -> None:
    """Objects that ``.git`` borrows from elsewhere are not read: the error says what to do."""
    other = make_repository(
        tmp_path / "other", {"deploy/web.yaml": yaml.safe_dump(a_deployment(3, "secret"))}
    )
    if way == "alternates":
        (root / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    else:
        (root / ".git").rename(root / "before")
        (root / ".git").write_text(f"gitdir: {other}/.git\n")
    done = _plan(root, "deploy")

    assert (2, "") == (done.returncode, done.stdout)
    assert "--from" in done.stderr
    assert "secret" not in done.stderr
