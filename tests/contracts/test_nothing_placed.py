"""A run that placed or looked at nothing is never green: neither exit code nor answer, in any format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import click
import pytest

from tests.builders import a_constraint, a_node, a_workload
from tests.for_each import for_each
from tests.planning.verdicts import on
from tests.webhook.cli.in_process import evenkeel
from webhook.cli.main import command

Object = dict[str, Any]

#: Commands on one workload.
PLACING: Final = (
    ("explain",),
    ("explain", "-o", "scores"),
    ("what-if", "--lose", "zone=a"),
    ("advise", "--lose-at-most", "1/2"),
)
#: Commands on every workload of a cluster, as green as they can be.
WHOLE: Final = (
    ("audit", "--fail-on", "never"),
    ("what-if", "--lose-each", "zone", "--fail-on", "never"),
    ("what-if", "--release", "1.37", "--fail-on", "never"),
)

_DEPLOYMENT: Final = a_workload(spec={"topologySpreadConstraints": [a_constraint()]}, labels={"app": "web"})
_NODES: Final = [a_node("n1", "a"), a_node("n2", "b")]
_NAMESPACE: Final[Object] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
#: Files that hold nothing to judge, or a cluster of which something is missing.
_FILES: Final[Mapping[str, list[Object]]] = {
    "cluster.json": [*_NODES, *on("n1", 2), _DEPLOYMENT],
    "no-node.json": [*on("n1", 2), _DEPLOYMENT],
    "no-pod.json": [*_NODES, _DEPLOYMENT],
    "nodes.json": _NODES,
    "nothing.json": [],
    "along.json": [_NAMESPACE],
}
#: Options that mean no object, or name one that is not there.
_NO_OBJECT: Final = (
    ("-f", "folder", "--cluster", "cluster.json"),
    ("-f", "nothing.json", "--cluster", "cluster.json"),
    ("-f", "along.json", "--cluster", "cluster.json"),
    ("-f", "empty.yaml", "--cluster", "cluster.json"),
    ("-f", "comment.yaml", "--cluster", "cluster.json"),
    ("-f", "web.json", "deploy/other", "--cluster", "cluster.json"),
    ("-f", "web.json", "-n", "other", "--cluster", "cluster.json"),
    ("deploy/other", "-n", "shop", "--cluster", "cluster.json"),
    ("deploy/web", "-n", "other", "--cluster", "cluster.json"),
    ("deploy/web", "-n", "shop", "--cluster", "nodes.json"),
    ("deploy/web", "-n", "shop", "--cluster", "nothing.json"),
    ("-f", "web.json", "--cluster", "nothing.json"),
)
_NO_NODE: Final = (
    ("-f", "web.json", "--cluster", "no-node.json"),
    ("deploy/web", "-n", "shop", "--cluster", "no-node.json"),
)
#: Clusters of which no workload is judged, or selections of none.
_NO_WORKLOAD: Final = (
    ("--cluster", "nothing.json"),
    ("--cluster", "nodes.json"),
    ("--cluster", "no-node.json"),
    ("--cluster", "cluster.json", "-n", "other"),
    ("--cluster", "cluster.json", "-l", "app=other"),
)


def _formats(name: str) -> tuple[str, ...]:
    """Return every format of a command."""
    found = command.get_command(click.Context(command), name)
    assert found is not None
    (formats,) = (option.type for option in found.params if option.name == "form")
    assert isinstance(formats, click.Choice)
    return tuple(formats.choices)


def _invocation(arguments: tuple[str, ...]) -> str:
    return f"evenkeel {' '.join(arguments)}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, one that holds a workload to place, and what holds no object at all."""
    path = tmp_path_factory.mktemp("files")
    for name, items in _FILES.items():
        (path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (path / "web.json").write_text(json.dumps(_DEPLOYMENT))
    (path / "empty.yaml").write_text("")
    (path / "comment.yaml").write_text("# nothing\n---\n")
    (path / "folder").mkdir()
    return path


@pytest.mark.parametrize("arguments", PLACING, ids=_invocation)
def test_no_object(arguments: tuple[str, ...], folder: Path) -> None:
    """Nothing is printed that could be read as an answer, and stderr has a sentence on it."""
    cases = [(*more, "-o", form) for more, form in product(_NO_OBJECT, _formats(arguments[0]))]

    @for_each(cases, name=_invocation)
    def is_refused(more: tuple[str, ...]) -> None:
        done = evenkeel(*arguments, *more, folder=folder)

        assert (2, b"") == (done.returncode, done.stdout)
        assert done.stderr.strip()

    is_refused()


@pytest.mark.parametrize("arguments", PLACING, ids=_invocation)
def test_no_node(arguments: tuple[str, ...], folder: Path) -> None:
    """Pods may be on nodes that the snapshot lacks, but that places none of them."""
    cases = [(*more, "-o", form) for more, form in product(_NO_NODE, _formats(arguments[0]))]

    @for_each(cases, name=_invocation)
    def is_not_green(more: tuple[str, ...]) -> None:
        assert evenkeel(*arguments, *more, folder=folder).returncode in {1, 2}

    is_not_green()


@pytest.mark.parametrize("arguments", WHOLE, ids=_invocation)
def test_no_workload(arguments: tuple[str, ...], folder: Path) -> None:
    """The same of a whole cluster, or of what is selected of it, also where no finding fails the command."""
    forms = _formats(arguments[0])
    cases = [(*more, "-o", form) for more, form in product(_NO_WORKLOAD, forms)]

    @for_each(cases, name=_invocation)
    def is_refused(more: tuple[str, ...]) -> None:
        done = evenkeel(*arguments, *more, folder=folder)

        assert (2, b"") == (done.returncode, done.stdout)
        assert done.stderr.strip()

    is_refused()


@pytest.mark.parametrize("arguments", [*PLACING, *WHOLE], ids=_invocation)
def test_no_pod(arguments: tuple[str, ...], folder: Path) -> None:
    """A snapshot without pods may be one of a cluster that runs none, or lack them: that is said."""
    of_object = () if arguments in WHOLE else ("deploy/web", "-n", "shop")
    cases = [(*of_object, "--cluster", "no-pod.json", "-o", form) for form in _formats(arguments[0])]

    @for_each(cases, name=_invocation)
    def is_said(more: tuple[str, ...]) -> None:
        done = evenkeel(*arguments, *more, folder=folder)

        assert done.returncode == 2 or b"there is no pod: the snapshot may lack them" in (
            done.stdout + done.stderr
        )

    is_said()


@pytest.mark.parametrize("arguments", [("doctor",), ("snapshot",), ("audit", "--live")], ids=_invocation)
def test_no_cluster(arguments: tuple[str, ...], folder: Path) -> None:
    """A cluster that nobody answers for has no answer."""
    done = evenkeel(*arguments, folder=folder, environment={"KUBECONFIG": str(folder / "none")})

    assert (3, b"") == (done.returncode, done.stdout)
    assert done.stderr.strip()
