"""The environment of Git in repositories of which some lead elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from policies.manifests.skipped import SkipReason
from tests.webhook.lint.git import commit_all, git, make_repository
from webhook.lint import git_folder
from webhook.lint.git_revision import GitRepository
from webhook.lint.tool_limits import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit."""
    return make_repository(tmp_path / "here", {"a.yaml": "a"})


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A repository that is nobody's business."""
    return make_repository(tmp_path / "other", {"secret.yaml": "hunter2"})


def commit_of(root: Path, revision: str = "HEAD") -> str | None:
    return GitRepository(root)._run("rev-parse", "--verify", revision).decode().strip()


def _file(root: Path, _: Path) -> None:
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").write_text("gitdir: ../other/.git\n")


def _worktree_of_other(root: Path, other: Path) -> None:
    git(other, "worktree", "add", "-q", str(root.parent / "known"))
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").write_text(f"gitdir: {other}/.git/worktrees/known\n")


def _link(root: Path, _: Path) -> None:
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").symlink_to("../other/.git")


def _alternates(root: Path, _: Path) -> None:
    (root / ".git/objects/info/alternates").write_text("../../../other/.git/objects\n")


def _common(root: Path, _: Path) -> None:
    (root / ".git/commondir").write_text("../../other/.git\n")


def _linked(name: str) -> Callable[[Path, Path], None]:
    def make(root: Path, other: Path) -> None:
        if (root / ".git" / name).exists():
            (root / ".git" / name).rename(root / ".git" / f"{Path(name).name}.old")
        (root / ".git" / name).symlink_to(other / ".git" / name)

    return make


def _pack(root: Path, other: Path) -> None:
    git(other, "repack", "-adq")
    for file in (other / ".git/objects/pack").iterdir():
        (root / ".git/objects/pack" / file.name).symlink_to(file)


def _fifo(name: str) -> Callable[[Path, Path], None]:
    def make(root: Path, _: Path) -> None:
        (root / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(root / ".git" / name)

    return make


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(_file, SkipReason.OUTSIDE_REPOSITORY, id="a file that names another repository"),
        pytest.param(_worktree_of_other, SkipReason.OUTSIDE_REPOSITORY, id="a file that names a work tree"),
        pytest.param(_link, SkipReason.OUTSIDE_REPOSITORY, id="a link to another repository"),
        pytest.param(_alternates, SkipReason.OUTSIDE_REPOSITORY, id="borrowed objects"),
        pytest.param(_common, SkipReason.OUTSIDE_REPOSITORY, id="a common folder"),
        pytest.param(_linked("objects"), SkipReason.OUTSIDE_REPOSITORY, id="linked objects"),
        pytest.param(_linked("refs"), SkipReason.OUTSIDE_REPOSITORY, id="linked names"),
        pytest.param(_linked("config"), SkipReason.OUTSIDE_REPOSITORY, id="a linked configuration"),
        pytest.param(_linked("HEAD"), SkipReason.OUTSIDE_REPOSITORY, id="a linked HEAD"),
        pytest.param(_pack, SkipReason.OUTSIDE_REPOSITORY, id="linked packs"),
        pytest.param(_fifo("config"), SkipReason.NOT_A_FILE, id="a pipe as configuration"),
        pytest.param(_fifo("HEAD"), SkipReason.NOT_A_FILE, id="a pipe as HEAD"),
        pytest.param(_fifo("packed-refs"), SkipReason.NOT_A_FILE, id="a pipe as names"),
        pytest.param(_fifo("refs/heads/x"), SkipReason.NOT_A_FILE, id="a pipe as a name"),
        pytest.param(_fifo("objects/info/alternates"), SkipReason.NOT_A_FILE, id="a pipe as alternates"),
        pytest.param(_fifo("objects/ab"), SkipReason.NOT_A_FILE, id="a pipe as objects"),
    ],
)
def test_what_leads_elsewhere(
    root: Path, other: Path, make: Callable[[Path, Path], None], reason: SkipReason
) -> None:
    """Nothing is run, and the reason is told."""
    make(root, other)
    with pytest.raises(ToolError) as caught:
        commit_of(root)

    assert reason == caught.value.reason


def test_a_work_tree_of_ones_own(root: Path, tmp_path: Path) -> None:
    """Its repository says that it is one of its work trees."""
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/b.yaml").write_text("b")
    commit_all(tmp_path / "side")

    assert git(root, "rev-parse", "side").strip() == commit_of(tmp_path / "side")
    assert git(root, "rev-parse", "HEAD").strip() == commit_of(tmp_path / "side", "HEAD~1")


def test_a_submodule_of_ones_own(root: Path, other: Path) -> None:
    """Its folder within the outer repository says which work tree is its own."""
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "inner")

    assert git(other, "rev-parse", "HEAD").strip() == commit_of(root / "inner")


def test_a_submodule_that_is_another(root: Path, other: Path, tmp_path: Path) -> None:
    """A copy of a submodule's work tree is not the one that its folder names."""
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "inner")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/.git").write_text(f"gitdir: {root}/.git/modules/inner\n")
    with pytest.raises(ToolError, match="out of the repository"):
        commit_of(tmp_path / "copy")


@pytest.mark.parametrize("form", ["include.path", "includeIf.gitdir:**.path"])
def test_what_the_configuration_includes(root: Path, tmp_path: Path, form: str) -> None:
    """It is not opened: CI keeps passwords there, and a pipe would never end."""
    os.mkfifo(tmp_path / "pipe")
    git(root, "config", form, "../../pipe")

    assert commit_of(root)


@pytest.mark.parametrize("revision", ["main", "HEAD@{0}", "main@{upstream}", "tag", "ORIG_HEAD"])
def test_names_of_revisions(root: Path, tmp_path: Path, revision: str) -> None:
    """The name of a revision means what it means for Git."""
    git(tmp_path, "clone", "-q", str(root), "clone")
    clone = tmp_path / "clone"
    git(clone, "tag", "tag")
    git(clone, "reset", "-q", "--hard", "HEAD")

    assert git(clone, "rev-parse", revision).strip() == commit_of(clone, revision)


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_forms_of_objects(tmp_path: Path, form: str) -> None:
    """Names of objects may have 64 digits."""
    (tmp_path / "here").mkdir()
    git(tmp_path / "here", "init", "-q", f"--object-format={form}")
    (tmp_path / "here/a").touch()
    commit_all(tmp_path / "here")

    assert git(tmp_path / "here", "rev-parse", "HEAD").strip() == commit_of(tmp_path / "here")


def test_more_files_than_are_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    monkeypatch.setattr(git_folder, "MAX_ENTRIES", 3)
    with pytest.raises(ToolError, match="git gc") as caught:
        commit_of(root)

    assert SkipReason.LIMIT_EXCEEDED == caught.value.reason
