"""Revisions of Git repositories as folders, also of repositories that were made to harm."""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from pathlib import Path

import pytest

from policies.manifests.errors import UsageError
from policies.manifests.skipped import SkipReason
from tests.webhook.lint.git import commit_all, git, make_repository
from webhook.lint import git_revision
from webhook.lint.git_revision import GitRepository
from webhook.lint.tool_limits import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two commits of one file."""
    root = make_repository(tmp_path / "repository", {"deploy/web.yaml": "one", "readme.md": "text"})
    (root / "deploy/web.yaml").write_text("two")
    commit_all(root)
    return root


def _extract(root: Path, folder: Path, revision: str = "HEAD", paths: tuple[str, ...] = ("",)) -> list[str]:
    """Write a revision into a folder; return what it has, but for the mark of the root."""
    repository = GitRepository(root)
    commit = repository.find_commit(revision)
    assert commit is not None
    folder.mkdir()
    repository.extract(commit, folder, paths)
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or path.is_symlink()
    )


def test_extract(root: Path, tmp_path: Path) -> None:
    """The files are those of the revision; the work tree is as it was."""
    (root / "deploy/web.yaml").write_text("three")

    assert ["deploy/web.yaml", "readme.md"] == _extract(root, tmp_path / "there", "HEAD~1")
    assert "one" == (tmp_path / "there/deploy/web.yaml").read_text()
    assert "three" == (root / "deploy/web.yaml").read_text()


def test_only_what_manifests_use(root: Path, tmp_path: Path) -> None:
    """Outside of the paths only files are read that manifests may be made of."""
    assert ["deploy/web.yaml"] == _extract(root, tmp_path / "there", paths=("deploy",))


@pytest.mark.parametrize(
    "revision", ["nope", "--help", "HEAD:deploy", "", "a\0b", "-", "HEAD~9", "refs/heads/x y"]
)
def test_no_revision(root: Path, revision: str) -> None:
    """Any name that is no commit is none, options and blobs included."""
    assert GitRepository(root).find_commit(revision) is None


def test_no_repository(tmp_path: Path) -> None:
    """A folder without a repository has no revision."""
    assert GitRepository(tmp_path).find_commit("HEAD") is None


def test_no_git(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git it is said."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError):
        GitRepository(root).find_commit("HEAD")


def test_a_work_tree_of_its_own(root: Path, tmp_path: Path) -> None:
    """A linked work tree has a file where others have a folder."""
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))

    assert GitRepository(tmp_path / "linked").find_commit("HEAD") == GitRepository(root).find_commit("HEAD")


def test_limits(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are too large or too many are left out and named."""
    monkeypatch.setattr(git_revision, "MAX_FILE", 3)
    repository = GitRepository(root)
    (tmp_path / "there").mkdir()
    skipped = repository.extract(repository.find_commit("HEAD") or "", tmp_path / "there", ("",))

    assert [("readme.md", SkipReason.LIMIT_EXCEEDED)] == [
        (entry.location.file, entry.reason) for entry in skipped
    ]


def test_many_batches(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents that are more than git may print at once are read in parts."""
    monkeypatch.setattr(git_revision, "MAX_OUTPUT", 90)

    assert ["deploy/web.yaml", "readme.md"] == _extract(root, tmp_path / "there")


def test_a_submodule(root: Path, tmp_path: Path) -> None:
    """Another repository is not read, and that is said."""
    commit = git(root, "rev-parse", "HEAD").strip()
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},modules/other")
    git(root, "commit", "-qm", "submodule")
    repository = GitRepository(root)
    (tmp_path / "there").mkdir()
    skipped = repository.extract(repository.find_commit("HEAD") or "", tmp_path / "there", ("",))

    assert [("modules/other", SkipReason.UNSUPPORTED)] == [
        (entry.location.file, entry.reason) for entry in skipped
    ]


def _object(root: Path, kind: str, content: bytes) -> bytes:
    """Write an object as it is, which git itself would refuse; return its name."""
    data = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    file = root / ".git/objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(data))
    return bytes.fromhex(name)


def _commit(root: Path, tree: bytes) -> str:
    who = b"a <a@b> 0 +0000"
    text = b"tree %s\nauthor %s\ncommitter %s\n\nodd\n" % (tree.hex().encode(), who, who)
    return _object(root, "commit", text).hex()


def test_names_that_lead_out(root: Path, tmp_path: Path) -> None:
    """Trees that git would not write, with names out of the folder, through a link, or of Git's own."""
    blob, outside = _object(root, "blob", b"odd"), _object(root, "blob", str(tmp_path / "out").encode())
    below = _object(root, "tree", b"100644 a.yaml\0" + blob)
    up = _object(root, "tree", b"40000 ..\0" + _object(root, "tree", b"40000 out\0" + below))
    tree = _object(
        root,
        "tree",
        b"".join(
            (
                b"40000 ..\0" + below,
                b"40000 .GIT\0" + below,
                b"40000 deep\0" + up,
                b"120000 link\0" + outside,
                b"40000 link\0" + below,
                b"100644 web.yaml\0" + blob,
                b"100644 web.yaml\0" + blob,
            )
        ),
    )
    (tmp_path / "out").mkdir()
    found = _extract(root, tmp_path / "there", _commit(root, tree))

    assert ["link/a.yaml", "web.yaml"] == found
    assert not list((tmp_path / "out").iterdir())
    assert not list((tmp_path / "there/.git").iterdir())


def test_links_stay_links(root: Path, tmp_path: Path) -> None:
    """A link is a link again; what it leads to is for who reads it."""
    (root / "deploy/out.yaml").symlink_to("/etc/passwd")
    (root / "deploy/folder").symlink_to("..")
    commit_all(root)
    _extract(root, tmp_path / "there")

    assert "/etc/passwd" == str((tmp_path / "there/deploy/out.yaml").readlink())
    assert ".." == str((tmp_path / "there/deploy/folder").readlink())


def test_no_program_of_the_repository_runs(root: Path, tmp_path: Path) -> None:
    """No hook, filter, monitor or transport that a repository sets up is started."""
    ran = tmp_path / "ran"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    for setting in ("core.fsmonitor", "filter.x.smudge", "filter.x.clean", "core.sshCommand", "core.pager"):
        git(root, "config", setting, str(script))
    (root / ".gitattributes").write_text("* filter=x\n")
    subprocess.run(["git", "-C", root, "-c", "filter.x.clean=cat", "add", ".gitattributes"], check=True)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (root / ".git/hooks" / hook).parent.mkdir(exist_ok=True)
        (root / ".git/hooks" / hook).write_text(script.read_text())
        (root / ".git/hooks" / hook).chmod(0o755)
    ran.unlink(missing_ok=True)
    _extract(root, tmp_path / "there")

    assert not ran.exists()


def test_a_partial_clone_fetches_nothing(root: Path, tmp_path: Path) -> None:
    """A file that is missing is named: git would run the transport that the repository names."""
    ran = tmp_path / "ran"
    blob = git(root, "rev-parse", "HEAD:readme.md").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.url", f"ext::touch {ran}")
    git(root, "config", "protocol.ext.allow", "always")
    repository = GitRepository(root)
    (tmp_path / "there").mkdir()
    skipped = repository.extract(repository.find_commit("HEAD") or "", tmp_path / "there", ("",))

    assert [("readme.md", SkipReason.UNREADABLE)] == [
        (entry.location.file, entry.reason) for entry in skipped
    ]
    assert not ran.exists()


def test_what_is_missing_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of git's has its cause."""

    def fails(*_arguments: object, **_stdin: object) -> bytes:
        raise ToolError("git takes more than 60 s", SkipReason.LIMIT_EXCEEDED)

    monkeypatch.setattr(git_revision, "run_tool", fails)
    with pytest.raises(UsageError, match="60 s"):
        GitRepository(root).find_commit("HEAD")
