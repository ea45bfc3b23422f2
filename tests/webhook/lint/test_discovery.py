"""The files of folders that are read, and their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.lint.discovery import find


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with files of many sorts."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "b.yaml", "a.yml", "c.json", "d.txt", ".hidden.yaml", ".github/x.yaml", "z/y.yaml",
        "kust/kustomization.yaml",
        "chart/Chart.yaml", "chart/values.yaml", "chart/templates/t.yaml", "chart/charts/sub/Chart.yaml",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


def test_a_folder(folder: Path) -> None:
    """Suffixes count; hidden files, links to folders and a chart's templates are left out; sorted."""
    found = find(["."])

    expected = ["a.yml", "b.yaml", "c.json", "chart/Chart.yaml", "chart/values.yaml", "z/y.yaml"]
    assert expected == list(found.files)
    assert ["chart"] == found.charts
    assert ["kust/kustomization.yaml"] == found.kustomizations


def test_a_path_that_is_given(folder: Path) -> None:
    """A file given by name is read whatever it is, once, and messages use the name that was given."""
    found = find(["d.txt", "./z", "-", "d.txt", ".hidden.yaml"])

    assert ["d.txt", "./z/y.yaml", "-", ".hidden.yaml"] == list(found.files)
    assert {"d.txt", "-", ".hidden.yaml"} == found.named


@pytest.mark.parametrize(
    ("path", "charts", "kustomizations", "given"),
    [
        pytest.param("chart/Chart.yaml", ["chart"], [], {"chart"}, id="a chart's file"),
        pytest.param(
            "kust/kustomization.yaml", [], ["kust/kustomization.yaml"], {"kust"}, id="a kustomization's file"
        ),
        pytest.param("no/Chart.yaml", [], [], set(), id="a file that is not there"),
        pytest.param("./kust/", [], ["./kust/kustomization.yaml"], {"kust"}, id="a folder"),
    ],
)
def test_files_that_stand_for_folders(
    folder: Path, path: str, charts: list[str], kustomizations: list[str], given: set[str]
) -> None:
    """A chart or a kustomization is named by its file as well as by its folder."""
    found = find([path])

    assert (charts, kustomizations) == (found.charts, found.kustomizations)
    assert ([] if given else [path]) == list(found.files)
    assert {folder / name for name in given} == found.given


def test_exclude(folder: Path) -> None:
    """Excluded patterns are as in .gitignore, from their own folder."""
    found = find(["."], exclude=(folder, ("chart/", "*.json", "/z", "kust")))

    assert ["a.yml", "b.yaml"] == list(found.files)
    assert ([], []) == (found.charts, found.kustomizations)


def test_a_folder_without_files(folder: Path) -> None:
    """A folder that gives nothing is told."""
    (folder / "empty").mkdir()

    assert {"empty": False} == find(["empty", "z"]).empty
    assert {"z": True} == find(["z"], exclude=(folder, ("z/**",))).empty


def test_paths_that_overlap(folder: Path) -> None:
    """A file reached twice is read once, by its first name, and a folder of it is not called empty."""
    found = find(["z/y.yaml", "z", ".", "./chart", str(folder / "kust"), str(folder / "b.yaml")])

    expected = ["z/y.yaml", "a.yml", "b.yaml", "c.json", "chart/Chart.yaml", "chart/values.yaml"]
    assert expected == list(found.files)
    assert (["chart"], ["kust/kustomization.yaml"], {}) == (found.charts, found.kustomizations, found.empty)


def test_links_without_a_file(folder: Path) -> None:
    """A link that leads nowhere, or to itself, is no file."""
    (folder / "gone.yaml").symlink_to(folder / "nowhere")
    (folder / "self.yaml").symlink_to(folder / "self.yaml")

    assert not {"gone.yaml", "self.yaml"} & find(["."]).files.keys()


def test_a_folder_with_a_kustomization_alone(folder: Path) -> None:
    """It is not empty."""
    assert {} == find(["kust"]).empty
