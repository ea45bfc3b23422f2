"""Objects one at a time: the same ones as those of a text that is read at once."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests import object_stream
from policies.manifests.documents import load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.object_stream import stream_objects
from tests.for_each import for_each

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"x": [1, 1.5, None, "ü🙂"]},
}
LIST = {"apiVersion": "v1", "items": [POD, POD], "kind": "List", "metadata": {"resourceVersion": ""}}


#: How far the paths of errors go that are compared.
NAME = FieldPath(("metadata", "name"))


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_small() -> Iterator[None]:
    """Small texts are read at once; here nearly all are large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_stream, "AT_ONCE", 50)
        yield


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def streamed(blocks: Iterable[bytes]) -> list[tuple[Any, str]]:
    return [(entry.value, str(entry.location(NAME))) for entry in stream_objects(blocks, "f.json")]


def whole(content: bytes) -> list[tuple[Any, str]]:
    found = (entry for document in load(content, "f.json") for entry in objects(document))
    return [(entry.value, str(entry.location(NAME))) for entry in found]


def dumped(value: object, **how: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **how).encode()


TEXTS = {
    "compact": dumped(LIST),
    "as kubectl indents": dumped(LIST, indent=4) + b"\n",
    "as jq indents, and Windows ends lines": dumped(LIST, indent=2).replace(b"\n", b"\r\n"),
    "an item a line": b'{"kind":"List","items":[\n' + dumped(POD) + b",\n" + dumped(POD) + b"\n]}\n",
    "an item a line, kind behind": b'{"items":[\n' + dumped(POD) + b',\n{}\n],\n"kind":"List"}',
    "no items": dumped(LIST | {"items": []}, indent=1),
    "items null": dumped(LIST | {"items": None}),
    "a typed list": dumped(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}, POD]},
        indent=4,
    ),
    "a list in a list": dumped(LIST | {"items": [LIST, POD]}, indent=2),
    "items that are none": dumped(LIST | {"items": [3, POD, None, "x", -1.25e3, True, [POD], {}]}),
    "items that are no list": dumped({"kind": "Menu", "items": [POD]}),
    "an item without a kind": dumped(LIST | {"items": [POD, {"metadata": {}}, POD]}, indent=1),
    "members nobody knows": dumped({"a": [1], "kind": "List", "items": [POD], "b": [2]}, indent=1),
    "one object": dumped(POD, indent=4),
    "no object": b"[1, 2]",
    "objects one after the other": dumped(POD) + b"\n" + dumped(POD, indent=2) + b"  " + dumped(POD),
    "UTF-8 with BOM": json.dumps(LIST).encode("utf-8-sig"),
    "UTF-16": json.dumps(LIST).encode("utf-16"),
    "YAML": yaml.safe_dump(LIST).encode(),
    "YAML in braces": b"{apiVersion: v1, kind: List, items: [{kind: Pod}]}",
    "YAML documents": yaml.safe_dump_all([POD, LIST]).encode(),
    "a key twice": dumped(LIST, indent=1).replace(b'"web"', b'"web", "name": "x"'),
    "empty": b"",
}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_the_objects_are_those_of_the_whole_text(content: bytes, size: int) -> None:
    """Wherever the blocks are cut, the objects and their lines are the same."""
    assert whole(content) == streamed(cut(content, size))


@given(
    items=st.lists(
        st.fixed_dictionaries(
            {"kind": st.sampled_from(["Pod", "List", "PodList"])},
            optional={
                "items": st.lists(st.just(POD) | st.integers(0, 9), max_size=2),
                "text": st.text(),
                "number": st.integers(-(2**63), 2**63 - 1) | st.floats(0.125, 0.875),
            },
        ),
        max_size=5,
    ),
    indent=st.sampled_from([None, 1, 4]),
    plain=st.booleans(),
    size=st.integers(1, 200),
)
def test_any_list(items: list[Any], *, indent: int | None, plain: bool, size: int) -> None:
    """Whatever a List contains and wherever it is cut, its objects are the same."""
    content = json.dumps(LIST | {"items": items}, indent=indent, ensure_ascii=plain).encode()

    assert whole(content) == streamed(cut(content, size))


MANY = dumped(LIST | {"items": [POD] * 3}, indent=1)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(b'"web"', b'"web', "38: is not JSON: column 17: invalid control", id="an open quote"),
        pytest.param(b'"web"', b"web", "38: is not JSON: column 13: expecting value", id="no quotes"),
        pytest.param(b'"web"', b'"\\ud800"', "34: half of a surrogate pair", id="half of a surrogate pair"),
        pytest.param(b'"web"', b"NaN", "34: NaN, Infinity or a number", id="no number"),
        pytest.param(b'"web"', b"1e999", "34: NaN, Infinity or a number", id="a number too large"),
        pytest.param(b'"web"', b"[" * 200_000, "34: lists and mappings are nested", id="200,000 brackets"),
        pytest.param(b'"web"', b'"\xff"', "38: is not text: the byte 0xff is not", id="not UTF-8"),
        pytest.param(b'"kind": "List"', b'"kind" 3', "50: is not JSON: column 9: expecting ':'", id="tail"),
        pytest.param(b'"kind": "List"', b'"kind": 3', "50: kind: must be List, got 3", id="no kind"),
        pytest.param(b"\n ],", b"\n ", "50: is not JSON: column ", id="no end of the items"),
        pytest.param(b"\n ],", b",\n ],", "48: is not JSON: column ", id="a comma too many"),
        pytest.param(b"\n}", b"\n} {}", "54: is not JSON: ", id="more behind the List"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 13, 10_000])
def test_errors_have_the_line_of_the_file(old: bytes, new: bytes, problem: str, size: int) -> None:
    """An error in the middle of a List names its place in the file, as reading the whole does."""
    before, found, after = MANY.rpartition(old)
    with pytest.raises(DocumentError) as caught:
        streamed(cut(before + new + after, size))

    assert found
    assert caught.value.problems[0].startswith(f"f.json:{problem}")


@for_each(range(40, len(MANY) - 1, 7))
def test_a_file_that_is_cut_off_is_refused(length: int) -> None:
    """A part of a cluster is not taken for the whole."""
    with pytest.raises(DocumentError):
        streamed([MANY[:length]])


def test_a_huge_list_is_never_held() -> None:
    """Memory does not grow with the number of objects."""

    def blocks(count: int) -> Iterator[bytes]:
        yield b'{"kind": "List", "items": [\n{}'
        for _ in range(count):
            yield b',\n{"kind": "Pod", "metadata": {"name": "%s"}}' % (b"x" * 5_000)
        yield b"\n]}"

    tracemalloc.start()
    count = sum(1 for _ in stream_objects(blocks(1000), "f"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 1001 == count
    assert 200_000 > peak


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'{"items": [\n{"kind": "' + b"x" * 50_000, "an item of more than", id="an item"),
        pytest.param(b'{"items": [\n{\n' + b'"kind":\n' * 9_000, "an item of more than", id="many lines"),
        pytest.param(b"- x\n" * 5000, "too large to be read as a whole", id="YAML"),
        pytest.param(dumped(LIST | {"items": [POD] * 500}), "jq", id="a List on one line"),
    ],
)
def test_what_has_to_be_held_is_bounded(monkeypatch: pytest.MonkeyPatch, content: bytes, words: str) -> None:
    """An object, or a text that only makes sense as a whole, may not fill the memory."""
    monkeypatch.setattr(object_stream, "MAX_WHOLE", 10_000)
    monkeypatch.setattr(object_stream, "MAX_ITEM", 10_000)
    with pytest.raises(DocumentError, match=words):
        streamed(cut(content, 100))
