"""Objects one at a time: the same ones, lines and errors as those of a text that is read at once."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests import json_window, object_stream
from policies.manifests.documents import load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.object_stream import stream_objects

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"x": [1, 1.0, 1.5, None, "ü🙂"]},
}
LIST = {"apiVersion": "v1", "items": [POD, POD], "kind": "List", "metadata": {"resourceVersion": ""}}
#: How far the paths of errors go that are compared.
NAME = FieldPath(("metadata", "name"))


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_small() -> Iterator[None]:
    """Small texts are read at once; here all are large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_stream, "AT_ONCE", 0)
        yield


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def streamed(blocks: Iterable[bytes]) -> list[tuple[Any, str]]:
    return [(entry.value, str(entry.location(NAME))) for entry in stream_objects(blocks, "f.json")]


def whole(content: bytes) -> list[tuple[Any, str]]:
    found = (entry for document in load(content, "f.json") for entry in objects(document))
    return [(entry.value, str(entry.location(NAME))) for entry in found]


def problems(content: bytes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        list(stream_objects([content], "f.json"))
    return list(caught.value.problems)


def dumped(value: object, **how: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **how).encode()


TEXTS = {
    "compact": dumped(LIST),
    "as kubectl indents": dumped(LIST, indent=4) + b"\n",
    "kind before the items": dumped({"kind": "List", "apiVersion": "v1", "items": [POD]}),
    "no items": dumped(LIST | {"items": []}, indent=1),
    "items null": dumped(LIST | {"items": None}),
    "a typed list": dumped(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}, POD]}
    ),
    "a typed list with its kind behind": dumped({"items": [{"metadata": {}}], "kind": "PodList"}),
    "a list in a list": dumped(LIST | {"items": [LIST, POD]}, indent=2),
    "items that are none": dumped(LIST | {"items": [3, POD, None, "x", -1.25e3, True, [POD], {}]}),
    "numbers at the end": b'{"kind": "List", "items": [1, 23]}',
    "items that are no list": dumped({"kind": "Menu", "items": [POD]}),
    "an item without a kind": dumped(LIST | {"items": [POD, {"metadata": {}}, POD]}),
    "members nobody knows": dumped({"a": [1], "kind": "List", "items": [POD], "b": [2]}),
    "one object": dumped(POD, indent=4),
    "no object": b"[1, 2]",
    "objects one after the other": dumped(POD) + b"\n" + dumped(POD, indent=2) + b"  " + dumped(POD),
    "lists one after the other": dumped(LIST, indent=4) + b"\n" + dumped(LIST) + dumped(LIST),
    "UTF-8 with BOM": json.dumps(LIST).encode("utf-8-sig"),
    "UTF-16": json.dumps(LIST).encode("utf-16"),
    "UTF-16 without BOM": json.dumps(LIST).encode("utf-16-le"),
    "YAML": yaml.safe_dump(LIST).encode(),
    "YAML in braces": b"{apiVersion: v1, kind: List, items: [{kind: Pod}]}",
    "YAML in JSON": b'{"kind": "List", "items": [{kind: Pod}]}',
    "YAML documents": yaml.safe_dump_all([POD, LIST]).encode(),
    "a key twice": dumped(LIST, indent=1).replace(b'"web"', b'"web", "name": "x"'),
    "a key of the List twice": dumped(LIST).replace(b'"kind": "List"', b'"kind": 1, "kind": "List"'),
    "empty": b"",
    "space": b" \n",
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
                "items": st.lists(st.just(POD) | st.integers(), max_size=2),
                "text": st.text(),
                "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
            },
        )
        | st.integers()
        | st.none(),
        max_size=5,
    ),
    indent=st.sampled_from([None, 1, 4]),
    plain=st.booleans(),
    size=st.integers(1, 200),
)
def test_any_list(items: list[Any], *, indent: int | None, plain: bool, size: int) -> None:
    """Whatever a List holds and wherever it is cut, its objects are the same."""
    content = json.dumps(LIST | {"items": items}, indent=indent, ensure_ascii=plain).encode()

    assert whole(content) == streamed(cut(content, size))


MANY = dumped(LIST | {"items": [POD] * 3}, indent=1)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(b'"web"', b'"web', "40: is not JSON: column 17: invalid control", id="an open quote"),
        pytest.param(b'"web"', b"web", "40: is not JSON: column 13: expecting value", id="no quotes"),
        pytest.param(b'"web"', b'"\\ud800"', "36: half of a surrogate pair", id="half of a surrogate pair"),
        pytest.param(b'"web"', b"NaN", "36: NaN, Infinity or a number", id="no number"),
        pytest.param(b'"web"', b"1e999", "36: NaN, Infinity or a number", id="a number too large"),
        pytest.param(b'"web"', b"[" * 100_000, "36: lists and mappings stand more", id="100,000 brackets"),
        pytest.param(b'"web"', b'"\xff"', "40: is not text: the byte 0xff is not", id="not UTF-8"),
        pytest.param(
            b'"metadata": {\n', b'"apiVersion": {\n', '54: the key "apiVersion"', id="head and tail"
        ),
        pytest.param(
            b'"kind": "List"', b'"kind" 3', "53: is not JSON: column 9: expecting ':'", id="no colon"
        ),
        pytest.param(b"\n ],", b"\n ]", "53: is not JSON: column 2: expecting ','", id="no comma"),
        pytest.param(b"\n ],", b"\n ", "53: is not JSON: column 2: expecting ','", id="no end of the items"),
        pytest.param(
            b"\n ],", b",\n ],", "52: is not JSON: column 2: expecting value", id="a comma too many"
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 13, 10_000])
def test_errors_have_the_line_of_the_file(old: bytes, new: bytes, problem: str, size: int) -> None:
    """An error in the middle of a List names its place in the file, as reading the whole does."""
    before, found, after = MANY.rpartition(old)
    content = before + new + after
    with pytest.raises(DocumentError) as caught:
        streamed(cut(content, size))

    assert found
    assert caught.value.problems[0].startswith(f"f.json:{problem}")


def test_errors_in_one_line_name_the_column() -> None:
    """Where a List stands in one line, the column is the one of the file, not of a block."""
    content = dumped(LIST | {"items": [POD] * 50})
    at = content.rindex(b'"web"')
    content = content[:at] + b"'" + content[at:]
    with pytest.raises(DocumentError) as caught:
        streamed(cut(content, 100))

    assert (f"f.json:1: is not JSON: column {len(content[:at].decode()) + 1}: expecting value",) == (
        caught.value.problems
    )


@pytest.mark.parametrize(
    ("tail", "problem"),
    [
        pytest.param(b']}', "an object with items whose kind is no List but null", id="no kind"),
        pytest.param(b'], "kind": "Menu"}', 'whose kind is no List but "Menu"', id="another kind"),
        pytest.param(b"],}", "a comma before the end", id="a comma and no member"),
        pytest.param(b'], "kind": "List"} x', "starts no JSON object", id="something behind the end"),
        pytest.param(b'], "kind": "List", "items": []}', '"items" stands twice', id="items twice"),
        pytest.param(b"", "expecting ',' or ']'", id="cut off"),
        pytest.param(b'], "ki', "unterminated string", id="cut off in a key"),
    ],
)  # fmt: skip
def test_what_stands_behind_the_items_counts(tail: bytes, problem: str) -> None:
    """What makes a text unusable is an error even where it comes behind the objects."""
    (found,) = problems(b'{"apiVersion": "v1",\n"items": [\n' + dumped(POD) + tail)

    assert found.startswith("f.json:3: ")
    assert problem in found


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(dumped({"items": [POD], "kind": "Menu"}), id="another kind behind the items"),
        pytest.param(dumped({"items": [POD]}), id="no kind"),
        pytest.param(
            b'{"kind": "List", "items": [{"kind": "Pod"}, {"kind": "Pod",},],}', id="YAML further on"
        ),
    ],
)
def test_small_texts_are_read_at_once(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """What people write by hand has all the freedom that a text has which is read at once."""
    monkeypatch.setattr(object_stream, "AT_ONCE", len(content))

    assert whole(content) == streamed(cut(content, 10))


def test_a_huge_list_is_never_held() -> None:
    """Memory does not grow with the number of objects."""

    def blocks(count: int) -> Iterator[bytes]:
        yield b'{"kind": "List", "items": [{}'
        for _ in range(count):
            yield b', {"kind": "Pod", "metadata": {"name": "%s"}}' % (b"x" * 5_000)
        yield b"]}"

    tracemalloc.start()
    count = sum(1 for _ in stream_objects(blocks(1000), "f"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 1001 == count
    assert 200_000 > peak


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            b'{"kind": "List", "items": [{"kind": "Pod"}, "' + b"x" * 50_000, "one object", id="item"
        ),
        pytest.param(b"- x\n" * 5000, "too large to be read as a whole", id="YAML"),
    ],
)
def test_what_has_to_be_held_is_bounded(monkeypatch: pytest.MonkeyPatch, content: bytes, words: str) -> None:
    """An object, or a text that only makes sense as a whole, may not fill the memory."""
    monkeypatch.setattr(object_stream, "MAX_WHOLE", 10_000)
    monkeypatch.setattr(json_window, "MAX_OBJECT", 10_000)
    with pytest.raises(DocumentError, match=words):
        streamed(cut(content, 100))


@given(
    st.lists(
        st.sampled_from(
            [
                '{"kind": "List", "items": [',
                '{"kind":"Pod"}',
                ",",
                "]",
                "}",
                '"',
                "\n",
                ', "kind": "List"}',
                "{",
                "1",
                " x",
            ]
        ),
        max_size=12,
    ),
    st.integers(1, 20),
)
def test_any_text(parts: list[str], size: int) -> None:
    """Whatever a file holds, it gives what the whole text gives, or an error with a place where that does."""
    content = "".join(parts).encode()
    expected, _ = outcome(whole, content)
    found, errors = outcome(lambda content: streamed(cut(content, size)), content)

    assert found in (expected, None)
    assert all(error.startswith("f.json:") for error in errors)


def outcome(
    read: Callable[[bytes], list[tuple[Any, str]]], content: bytes
) -> tuple[list[tuple[Any, str]] | None, tuple[str, ...]]:
    try:
        return read(content), ()
    except DocumentError as error:
        return None, error.problems
