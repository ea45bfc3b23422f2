"""Texts that change, those of patches in kustomizations among them."""

from __future__ import annotations

import pytest

from policies.lint.fix_targets import Workspace
from policies.manifests.fields import FieldPath
from policies.manifests.kustomize_layers import TextKey
from policies.manifests.rewrite import RewriteRefusal

KEY = TextKey("k.yaml", 0, FieldPath(("patches", 0, "patch")))


@pytest.mark.parametrize(
    ("file", "new", "expected"),
    [
        pytest.param(
            "patches:\n- patch: |\n    a: 1\n  b: 2\n",
            "a: 3\nc: 4\n",
            "    a: 3\n    c: 4\n  b: 2\n",
            id="a line more",
        ),
        pytest.param(
            "patches:\n- patch: |-\n    a: 1\n\n    b: 2\n",
            "a: 1\n\nb: 3",
            "    a: 1\n\n    b: 3\n",
            id="an empty line",
        ),
        pytest.param(
            "patches:\r\n- patch: |-\r\n    a: 1\r\n", "a: 2\nb: 3", "    a: 2\r\n    b: 3\r\n", id="CRLF"
        ),
        pytest.param(
            "patches:\n- patch: |+\n    a: 1\n\n- x\n", "a: 2\n\n", "    a: 2\n\n- x\n", id="kept blanks"
        ),
        pytest.param("patches:\n- patch: |-\n    a: 1", "a: 2", "    a: 2", id="no line end"),
        pytest.param(
            "patches:\n- patch: |-\n    a: 1\n---\nx: 1\n",
            "a: 2",
            "    a: 2\n---\nx: 1\n",
            id="two documents",
        ),
        pytest.param("patches:\n- patch: |-\n    a: 1\n", "a: 2\n", None, id="another end of the text"),
        pytest.param("patches:\n- patch: >-\n    a:\n    1\n", "a: 2", None, id="folded"),
    ],
)
def test_write(file: str, new: str, expected: str | None) -> None:
    """Only the lines of the patch change, with the kustomization's own indentation and line ends."""
    space = Workspace({}, [], lambda _file: file.encode())
    refusal = space.write(KEY, new.encode())
    actual = None if refusal else space.changed["k.yaml"].decode()

    assert isinstance(refusal, RewriteRefusal) is (expected is None)
    assert expected is None or actual == file[: file.index("\n", 10) + 1] + expected
    assert expected is None or new == space.text(KEY)[0].decode()


def test_unreadable() -> None:
    """Errors of a file are reported, and it has no objects."""
    space = Workspace({"a.yaml": b"a: ["}, [], lambda _file: b"")

    assert [] == list(space.manifests())
    assert 1 == len(space.problems)
