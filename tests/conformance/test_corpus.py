"""The corpus of this release, and corpora that are broken."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from conformance.corpus import MANIFEST, Corpus, open_corpus
from conformance.feature import FEATURES
from policies.manifests.errors import DocumentError
from tests.conformance.test_case import CASE

LINE = json.dumps(CASE) + "\n"


def test_the_corpus_of_this_release() -> None:
    """Every case can be read, ids are unique, and every feature has cases."""
    counts: Counter[str] = Counter()
    for _, case in open_corpus().cases():
        counts.update(case.features)

    assert {feature.id for feature in FEATURES} == counts.keys()
    assert 24 <= min(counts.values())


def _ids(corpus: Corpus) -> list[str]:
    return [case.id for _, case in corpus.cases()]


def _a_corpus(folder: Path, manifest: object = None, **files: str) -> str:
    names = [name.replace("_", ".") for name in files]
    content = {"formatVersion": 1, "version": "2.0.0", "files": names} if manifest is None else manifest
    (folder / MANIFEST).write_text(content if isinstance(content, str) else json.dumps(content))
    for name, text in zip(names, files.values(), strict=True):
        packed = name.endswith(".gz")
        (folder / name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return str(folder)


def test_a_folder(tmp_path: Path) -> None:
    """Files are read in the order of the manifest, packed or not; empty lines are no cases."""
    corpus = open_corpus(_a_corpus(tmp_path, b_jsonl=f"\n{LINE}", a_jsonl_gz=LINE.replace('"a"', '"b"')))

    assert ("corpus 2.0.0", ["a", "b"]) == (corpus.title, _ids(corpus))


def test_a_file(tmp_path: Path) -> None:
    """A file of cases needs no manifest."""
    path = tmp_path / "mine.jsonl"
    path.write_text(LINE)
    corpus = open_corpus(str(path))

    assert (str(path), ["a"]) == (corpus.title, _ids(corpus))


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("{", "is not JSON", id="no JSON"),
        pytest.param([], "must be an object", id="no object"),
        pytest.param(
            {"formatVersion": 2, "version": "1", "files": []}, "formatVersion: Unsupported", id="newer"
        ),
        pytest.param({"formatVersion": 1, "version": "1", "files": ["../x", 3]}, "files[1]", id="names"),
    ],
)
def test_a_broken_manifest(manifest: object, said: str, tmp_path: Path) -> None:
    """Errors are reported with the file and the field."""
    with pytest.raises(DocumentError) as caught:
        open_corpus(_a_corpus(tmp_path, manifest))

    assert all(str(tmp_path / MANIFEST) in problem for problem in caught.value.problems)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param(LINE + LINE, [":2: id: Duplicate"], id="an id twice"),
        pytest.param("{}\n[]\n", [":1: id:", ":2: "], id="no cases"),
        pytest.param("nonsense\n" * 100, [":20: "], id="nonsense: the first 20 problems"),
    ],
)
def test_broken_cases(text: str, places: list[str], tmp_path: Path) -> None:
    """All problems are said at once, each with its line."""
    with pytest.raises(DocumentError) as caught:
        list(open_corpus(_a_corpus(tmp_path, a_jsonl=text)).cases())

    assert 20 >= len(caught.value.problems)
    assert all(f"{tmp_path / 'a.jsonl'}{place}" in str(caught.value) for place in places)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(LINE.encode())[:-4]], ids=["none", "cut"])
def test_broken_gzip(content: bytes, tmp_path: Path) -> None:
    """A file that cannot be unpacked is named."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)

    with pytest.raises(DocumentError, match="cannot be unpacked"):
        list(open_corpus(str(path)).cases())
