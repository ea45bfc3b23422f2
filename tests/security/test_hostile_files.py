"""Files of strangers, of the parts that the search for the most expensive has: each is read or refused."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import pytest

from benchmarks.hostile_files import KINDS, Part
from policies.manifests.errors import DocumentError

#: Bytes of each part; some 200 repeats of most.
SIZE = 2**12


@pytest.mark.parametrize("name", KINDS)
def test_every_part_alone_and_with_the_next(tmp_path: Path, name: str) -> None:
    """Any error is an error of the file, never one of ours."""
    kind = KINDS[name]
    texts = [Part(*part).text(SIZE) for part in kind.parts]
    for text in [*texts, *map(kind.joint.join, itertools.pairwise(texts))]:
        with contextlib.suppress(DocumentError):
            kind.read(text.encode(), tmp_path)
