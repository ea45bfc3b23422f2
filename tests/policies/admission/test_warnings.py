"""What a person reads of remarks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.admission.warnings import LINE_LENGTH, PREFIX, AdmissionWarning, lines, with_short_keys
from policies.manifests.fields import FieldPath

LIST = FieldPath(("spec", "template", "spec", "topologySpreadConstraints"))
#: A text that takes a line of its own, and one that takes two.
LINE, TWO_LINES = "l" * 38 + " " + "l" * 38, "; ".join(["m " * 38 + "m"] * 2)


def a_remark(text: str, topic: str = "rule", *numbers: int, field: str = "maxSkew") -> AdmissionWarning:
    """Return a remark on one field of the constraints with these numbers."""
    return AdmissionWarning(
        text, topic=topic, paths=tuple(LIST.index(number).child(field) for number in numbers)
    )


@pytest.mark.parametrize(
    ("remarks", "most", "expected"),
    [
        pytest.param([], 3, [], id="nothing"),
        pytest.param(
            [a_remark("is 5", "rule", 0)],
            3,
            ["rule: spec.template.spec.topologySpreadConstraints[0].maxSkew: is 5"],
            id="short: the whole field",
        ),
        pytest.param(
            [a_remark("w " * 25 + "w", "rule", 0)],
            3,
            [f"rule: topologySpreadConstraints[0].maxSkew: {'w ' * 25}w"],
            id="longer: the field from the list on",
        ),
        pytest.param(
            [a_remark(LINE, "rule", 0)],
            3,
            [f"rule: [0].maxSkew: {LINE}"],
            id="a full line: the shortest field",
        ),
        pytest.param(
            [a_remark("w " * 45 + "w", "rule", 0)],
            2,
            ["rule: spec.template.spec.topologySpreadConstraints[0].maxSkew:", "  " + "w " * 45 + "w"],
            id="a line of its own below the whole field",
        ),
        pytest.param(
            [a_remark("is 5", "rule", 0), a_remark("is 5", "rule", 2)],
            2,
            ["rule: spec.template.spec.topologySpreadConstraints[0,2].maxSkew: is 5"],
            id="the same of 2 fields",
        ),
        pytest.param(
            [a_remark("is 5", "rule", 0), a_remark("is 5", "rule", 2, field="minDomains")],
            2,
            ["rule: spec.template.spec.topologySpreadConstraints[0].maxSkew, [2].minDomains: is 5"],
            id="the same of 2 unlike fields",
        ),
        pytest.param(
            [a_remark(TWO_LINES), a_remark("b")],
            3,
            ["rule: " + "m " * 38 + "m", "  " + "m " * 38 + "m", "rule: b"],
            id="2 remarks, 3 lines: 2 for the first",
        ),
        pytest.param(
            [a_remark(TWO_LINES), a_remark("b"), a_remark("c")],
            3,
            ["rule: " + "m " * 38 + "m", "rule: b", "rule: c"],
            id="3 remarks, 3 lines: 1 for each",
        ),
        pytest.param(
            [a_remark("a"), a_remark("b", "x"), a_remark("c", "y"), a_remark("d", "x")],
            2,
            ["rule: a", "and 3 more: x, y; kubectl evenkeel lint FILE tells all"],
            id="4 remarks, 2 lines: the last names the rest",
        ),
        pytest.param(
            [AdmissionWarning("a", hint="do b"), a_remark("c")],
            3,
            ["a", "rule: c", "do b"],
            id="a free line: the hint",
        ),
        pytest.param(
            [AdmissionWarning("a", hint="do b"), a_remark("c")], 2, ["a", "rule: c"], id="none free: no hint"
        ),
    ],
)
def test_lines(remarks: list[AdmissionWarning], most: int, expected: list[str]) -> None:
    """The worst is told first and most fully; what has no line is named."""
    assert [PREFIX + line for line in expected] == lines(remarks, most)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("topology.kubernetes.io/zone, kubernetes.io/hostname", "zone, hostname", id="two keys"),
        pytest.param("kubernetes.io/hostname-2", "kubernetes.io/hostname-2", id="another key"),
        pytest.param("x.kubernetes.io/hostname", "x.kubernetes.io/hostname", id="another prefix"),
        pytest.param(
            "beta.io/zone is topology.kubernetes.io/zone",
            "beta.io/zone is topology.kubernetes.io/zone",
            id="two prefixes",
        ),
        pytest.param("zone-a of topology.kubernetes.io/zone", "zone-a of zone", id="a value of it"),
    ],
)
def test_short_keys(text: str, expected: str) -> None:
    """Well-known keys are told by their last part where nothing else is called so."""
    assert expected == with_short_keys(text)


names = st.text(min_size=1, max_size=300) | st.sampled_from(["topology.kubernetes.io/zone", "a" * 253])
remarks_of_anything = st.lists(
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


@given(remarks=remarks_of_anything, most=st.integers(2, 3))
def test_whatever_is_remarked_there_are_few_short_lines(remarks: list[AdmissionWarning], most: int) -> None:
    """No more lines than may be, none too long for kubectl's 120 characters, all printable and ours."""
    told = lines(remarks, most)

    assert len(told) <= most
    assert bool(told) == bool(remarks)
    assert [] == [line for line in told if len(line) > LINE_LENGTH or not line.isprintable()]
    assert all(line.startswith(PREFIX) for line in told)
