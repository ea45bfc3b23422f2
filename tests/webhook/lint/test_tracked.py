"""Files that Git tracks are read, whatever it ignores."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.skipped import Skipped, SkipReason
from tests.webhook.lint.git import git, make_repository
from webhook.lint.discovery import find
from webhook.lint.inputs import Tools, gather_texts

FILES = {
    ".gitignore": "kustomize\n*.tmp.yaml\n/only/\nchart/\n",
    "kustomize/base/web.yaml": "",
    "kustomize/base/kustomization.yaml": "resources: [web.yaml]",
    "a.tmp.yaml": "",
    "only/.gitignore": "*",
    "only/deep/er/b.yaml": "",
    "chart/Chart.yaml": "",
    "chart/templates/c.yaml": "",
    "n\u00e4me.tmp.yaml": "",
    "c.yaml": "",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository all of whose files match its own ``.gitignore``, beside some untracked ones."""
    root = make_repository(tmp_path / "here", {".keep": ""})
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-f", ".")
    for name in ("new.tmp.yaml", "only/deep/new.yaml", "only/no/new.yaml", "only/deep/note.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    monkeypatch.chdir(root)
    return root


#: The files that are found among them.
TRACKED = [
    "a.tmp.yaml", "c.yaml", "chart/Chart.yaml", "kustomize/base/web.yaml", "n\u00e4me.tmp.yaml",
    "only/deep/er/b.yaml",
]  # fmt: skip


def _told(skipped: list[Skipped]) -> list[tuple[SkipReason, str]]:
    return [(entry.reason, entry.location.file) for entry in skipped]


def test_tracked_files(root: Path) -> None:
    """They are read, those that are not are counted."""
    found = find(["."])

    assert TRACKED == list(found.files)
    assert ["chart"] == found.charts
    assert ["kustomize/base/kustomization.yaml"] == found.kustomizations
    assert ({".": 3}, {}) == (found.ignored, found.untold)  # A folder and two files.


def test_from_below(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's paths count from the root, ours from where the user works."""
    monkeypatch.chdir(root / "only")
    found = find([".", "../kustomize"])

    assert ["deep/er/b.yaml", "../kustomize/base/web.yaml"] == list(found.files)
    assert {".": 2} == found.ignored


def test_a_worktree(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has an index of its own."""
    git(root, "commit", "-qm", "all")
    git(root, "worktree", "add", "-q", "../there")
    monkeypatch.chdir(root.parent / "there")

    assert TRACKED == list(find(["."]).files)


def test_a_clone_that_borrows_objects(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its index is its own, and enough to know what it tracks."""
    git(root, "commit", "-qm", "all")
    git(root, "clone", "-q", "--shared", ".", "../there")
    monkeypatch.chdir(root.parent / "there")
    found = find(["."])

    assert Path(".git/objects/info/alternates").is_file()
    assert (TRACKED, {}) == (list(found.files), found.untold)


def test_a_repository_within(root: Path) -> None:
    """It tracks its own files."""
    make_repository(root / "inner", {"d.yaml": ""})
    (root / "inner" / ".gitignore").write_text("*.yaml\n")
    (root / "inner" / "e.yaml").write_text("")

    assert ["inner/d.yaml"] == [file for file in find(["."]).files if file.startswith("inner")]


def test_exclude_counts_for_tracked_files(root: Path) -> None:
    """Who excludes a file does not want it, tracked or not, and is not told."""
    found = find(["."], exclude=(root, ("/only", "*.tmp.yaml", "chart", "!kustomize")))

    assert ["c.yaml", "kustomize/base/web.yaml"] == list(found.files)
    assert {} == found.ignored


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param("PATH", SkipReason.TOOL_MISSING, id="no git"),
        pytest.param("index", SkipReason.TOOL_FAILED, id="no index that git can read"),
    ],
)
def test_what_cannot_be_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, broken: str, reason: SkipReason
) -> None:
    """Where Git's index cannot be read, tracked files may be missing: that is said."""
    if broken == "PATH":
        monkeypatch.setenv("PATH", str(root))
    else:
        (root / ".git" / "index").write_text("DIRC")
    texts = gather_texts(["."], tools=Tools())

    assert ["c.yaml"] == [text.file for text in texts.texts]
    assert [(reason, "."), (SkipReason.GIT_IGNORED, ".")] == _told(texts.skipped)


@pytest.mark.parametrize("has_git", [True, False])
def test_nothing_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_git: bool) -> None:
    """A new repository, and a folder that is none, have no index: no git is needed."""
    if has_git:
        git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("a.yaml")
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    texts = gather_texts(["."], tools=Tools())

    assert ["b.yaml"] == [text.file for text in texts.texts]
    assert [(SkipReason.GIT_IGNORED, ".")] == _told(texts.skipped)
