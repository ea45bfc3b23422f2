"""Files that change are loaded again; what has errors is not put into force."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from policies.config.loader import load_policies
from policies.config.spread_policy import SpreadPolicy
from webhook.policy_controller.controller import PolicyFiles

TEXT = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {{name: {}}}\n"


def following(*names: str, before: Callable[[], object] = lambda: None) -> PolicyFiles:
    """Return a watcher of files that can be read; ``before`` is called before each load."""

    def load() -> tuple[SpreadPolicy, ...]:
        before()
        return load_policies(names, lambda name: Path(name).read_bytes())

    return PolicyFiles(names, load(), load)


def names(files: PolicyFiles) -> list[str]:
    return [policy.name for policy in files.policies]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT.format("first"))
    return path


def test_a_file_that_is_written_anew(file: Path) -> None:
    """The change is taken once."""
    files = following(str(file))
    before = files.refresh()
    file.write_text(TEXT.format("second"))

    assert not before
    assert files.refresh()
    assert ["second"] == names(files)
    assert not files.refresh()


def test_a_mounted_config_map(tmp_path: Path) -> None:
    """The kubelet writes a folder of its own for each version, and changes one link."""
    for version in ("first", "second"):
        (tmp_path / f"..{version}").mkdir()
        (tmp_path / f"..{version}" / "policy.yaml").write_text(TEXT.format(version))
    (tmp_path / "..data").symlink_to("..first")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    files = following(str(tmp_path / "policy.yaml"))
    (tmp_path / "..data_tmp").symlink_to("..second")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    assert files.refresh()
    assert ["second"] == names(files)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Pod", "kind: Unsupported value"),
        ("{", "policy.yaml"),
        ("a: 1\na: 2", "duplicate key"),
        (None, "No such file"),
    ],
    ids=["no policy", "no YAML", "a duplicate key", "the file is gone"],
)
def test_errors_leave_the_last_good_policies(file: Path, text: str | None, problem: str) -> None:
    """The problem stays until the file is repaired."""
    files = following(str(file))
    if text is None:
        file.unlink()
    else:
        file.write_text(text)

    assert files.refresh()
    assert problem in files.problem
    assert ["first"] == names(files)

    file.write_text(TEXT.format("third"))

    assert files.refresh()
    assert ("", ["third"]) == (files.problem, names(files))


def test_a_writer_between_two_files(tmp_path: Path) -> None:
    """A set of two versions is never in force."""
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text(TEXT.format("first"))
    second.write_text(TEXT.format("second"))
    writing: list[str] = []

    def write() -> None:
        if writing:
            second.write_text(TEXT.format(writing.pop()))

    files = following(str(first), str(second), before=write)
    first.write_text(TEXT.format("other"))
    writing.append("another-one")

    assert not files.refresh()
    assert ["first", "second"] == names(files)
    assert files.refresh()
    assert ["other", "another-one"] == names(files)


def test_what_never_changes_is_not_read_again(file: Path) -> None:
    """Built-in policies are fixed, and standard input is read once."""
    builtin = following("builtin:audit")
    given = PolicyFiles(("-", str(file)), (), lambda: (_ for _ in ()).throw(AssertionError))
    os.utime(file, (1, 1))

    assert not builtin.refresh()
    assert not given.refresh()
