"""The containers of a YAML document while they are being filled."""

from __future__ import annotations

from policies.manifests.frames import MappingFrame, RootFrame, SequenceFrame


def test_sizes_count_everything_inside() -> None:
    """A container counts its values and levels, whatever comes by an alias."""
    outer, inner = SequenceFrame(), SequenceFrame()
    inner.add(1, 1)
    inner.add(2, 1)
    for _ in range(2):
        outer.add(inner.value, 1)
        outer.contain(inner)

    assert ([[1, 2], [1, 2]], 2) == (outer.value, outer.height)
    assert outer.size >= 7


def test_mapping_takes_keys_and_values_in_turn() -> None:
    """A mapping knows the line of each key, not of its value."""
    frame = MappingFrame([], [])
    frame.add("a", 1)
    frame.add("x", 2)

    assert ({"a": "x"}, [1], True) == (frame.value, list(frame.lines), frame.expects_key)


def test_root_holds_one_value() -> None:
    """The root keeps the value and the line where it starts."""
    root = RootFrame(line=1)
    root.add("x", 3)

    assert ("x", 3) == (root.value, root.line)
