"""The warnings that a person reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.admission.decision import MAX_WARNING_LENGTH, WARNING_PREFIX, AdmissionWarning, warning_texts
from policies.manifests.fields import FieldPath

LIST = FieldPath(("spec", "template", "spec", "topologySpreadConstraints"))


def a_warning(text: str, topic: str = "rule", *numbers: int, field: str = "maxSkew") -> AdmissionWarning:
    """Return a warning about one field of the constraints with these numbers."""
    return AdmissionWarning(
        text, topic=topic, paths=tuple(LIST.index(number).child(field) for number in numbers)
    )


@pytest.mark.parametrize(
    ("warnings", "most", "expected"),
    [
        pytest.param([], 3, [], id="none"),
        pytest.param(
            [a_warning("is 5", "rule", 0)],
            3,
            ["rule: topologySpreadConstraints[0].maxSkew: is 5"],
            id="the field from the list on",
        ),
        pytest.param(
            [AdmissionWarning("is bad", "rule", (FieldPath(("metadata", "name")),))],
            3,
            ["rule: metadata.name: is bad"],
            id="a field outside the pod's spec",
        ),
        pytest.param(
            [a_warning("is 5", "rule", 0), a_warning("is 5", "rule", 2)],
            1,
            ["rule: topologySpreadConstraints[0].maxSkew, topologySpreadConstraints[2].maxSkew: is 5"],
            id="the same of 2 fields",
        ),
        pytest.param(
            [a_warning("a"), a_warning("b", "x"), a_warning("c", "y"), a_warning("d", "x")],
            2,
            ["rule: a", "and 3 more: x, y; run kubectl evenkeel lint FILE to see all"],
            id="4 warnings, 2 texts: the last names the others",
        ),
    ],
)
def test_texts(warnings: list[AdmissionWarning], most: int, expected: list[str]) -> None:
    """The first come first; what has no text of its own is named."""
    assert [WARNING_PREFIX + text for text in expected] == warning_texts(warnings, most)


def test_a_long_name_leaves_room_for_the_text() -> None:
    """The path of a field is cut before the text is."""
    path = LIST.index(0).child("labelSelector", "matchLabels").key("k" * 300)
    (text,) = warning_texts([AdmissionWarning("t" * 100, "rule", (path,))], 3)

    assert len(text) <= MAX_WARNING_LENGTH
    assert text.endswith("t" * 100)


names = st.text(min_size=1, max_size=300) | st.sampled_from(["topology.kubernetes.io/zone", "a" * 253])
any_warnings = st.lists(
    st.builds(
        AdmissionWarning,
        text=st.lists(names, min_size=1, max_size=9).map(", ".join),
        topic=st.sampled_from(["", "autoscaler-ignores-scheduler-defaults", "evenkeel.dev/ignore"]),
        paths=st.lists(
            st.builds(lambda number, name: LIST.index(number).key(name), st.integers(0, 99), names)
            | st.builds(lambda name: FieldPath(("spec",)).key(name), names)
        ).map(tuple),
    ),
    max_size=12,
)


@given(warnings=any_warnings, most=st.integers(2, 3))
def test_there_are_few_short_printable_texts(warnings: list[AdmissionWarning], most: int) -> None:
    """Whatever the names, the API server takes the texts: not too many, not too long, nothing unprintable."""
    texts = warning_texts(warnings, most)

    assert len(texts) <= most
    assert bool(texts) == bool(warnings)
    assert [] == [text for text in texts if len(text) > MAX_WARNING_LENGTH or not text.isprintable()]
    assert all(text.startswith(WARNING_PREFIX) for text in texts)
