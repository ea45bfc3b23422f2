"""Node selectors and the required node affinity."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.node_affinity import NodeAffinity, parse_int64, read_node_affinity

SPEC = FieldPath(("spec",))


def _affinity(*terms: Any, **spec: Any) -> NodeAffinity:
    found = ErrorList()
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    read = read_node_affinity({"affinity": {"nodeAffinity": required}, **spec}, SPEC, found)
    assert [] == found.errors
    return read


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _named(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [_expression("metadata.name", operator, *values)]}


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        (_expression("gen", "In", "5", "7"), ["5"]),
        (_expression("gen", "NotIn", "5", "7"), [None, "-3", "5x", "50"]),
        (_expression("gen", "Exists"), ["-3", "5", "5x", "50"]),
        (_expression("gen", "DoesNotExist"), [None]),
        (_expression("gen", "Gt", "5"), ["50"]),
        (_expression("gen", "Gt", "05"), ["50"]),
        (_expression("gen", "Lt", "5"), ["-3"]),
        # What the scheduler cannot make sense of matches nothing, NotIn included.
        (_expression("gen", "Gt", "five"), []),
        (_expression("gen", "Gt", "5", "7"), []),
        (_expression("gen", "Lt"), []),
        (_expression("gen", "In"), []),
        (_expression("gen", "Exists", "5"), []),
        (_expression("gen", "NotIn", "no value: ___@#$%^"), []),
        (_expression("no key", "NotIn", "5"), []),
    ],
    ids=str,
)
def test_expressions(expression: dict[str, Any], matching: list[str | None]) -> None:
    """Gt and Lt compare integers, NotIn and DoesNotExist accept an absent label, a senseless one nothing."""
    affinity = _affinity({"matchExpressions": [expression]})
    generations = [None, "-3", "5", "5x", "50"]

    assert matching == [
        gen for gen in generations if affinity.matches("n1", {} if gen is None else {"gen": gen})
    ]


def test_terms_are_alternatives_and_their_requirements_are_not() -> None:
    """One term is enough, whatever the others say, but all of its requirements must hold."""
    affinity = _affinity(
        {"matchExpressions": [_expression("disk", "In", "ssd"), _expression("zone", "Exists")]},
        {"matchExpressions": [_expression("gen", "Gt", "five")]},
        {},
        _named("In", "n9"),
    )

    assert affinity.matches("n1", {"disk": "ssd", "zone": "a"})
    assert not affinity.matches("n1", {"disk": "ssd", "gen": "9"})
    assert affinity.matches("n9", {})


def test_selector_and_affinity_must_both_hold() -> None:
    """The node selector holds besides the affinity, and by itself."""
    affinity = _affinity({"matchExpressions": [_expression("disk", "Exists")]}, nodeSelector={"zone": "a"})
    alone = read_node_affinity({"nodeSelector": {"zone": "a"}}, SPEC, ErrorList())

    assert affinity.matches("n1", {"disk": "ssd", "zone": "a"})
    assert not affinity.matches("n1", {"disk": "ssd", "zone": "b"})
    assert not affinity.matches("n1", {"zone": "a"})
    assert alone.matches("n1", {"zone": "a"})
    assert alone.constrains


@pytest.mark.parametrize("spec", [{}, {"affinity": None}, {"affinity": {"nodeAffinity": {}}}], ids=str)
def test_without_requirements_every_node_matches(spec: dict[str, Any]) -> None:
    """A pod that asks for nothing fits everywhere."""
    affinity = read_node_affinity(spec, SPEC, ErrorList())

    assert affinity.matches("n1", {})
    assert not affinity.constrains
    assert affinity.node_names() is None


@pytest.mark.parametrize(
    "terms", [[], [{}], [None], [{"matchExpressions": [], "matchFields": None}]], ids=str
)
def test_empty_terms_match_no_node(terms: list[Any]) -> None:
    """A required affinity without terms, or with empty ones, matches nothing."""
    affinity = _affinity(*terms)

    assert not affinity.matches("n1", {})
    assert affinity.constrains
    assert affinity.node_names() is None


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([_named("In", "n1"), _named("In", "n2")], {"n1", "n2"}),
        ([_named("In", "n1"), {"matchExpressions": [_expression("disk", "Exists")]}], None),
        ([_named("NotIn", "n1")], None),
        ([{"matchFields": _named("In", "n1")["matchFields"] * 2}], {"n1"}),
        ([{"matchFields": [*_named("In", "n1")["matchFields"], *_named("In", "n2")["matchFields"]]}], set()),
        # More than one value matches nothing, and yet it narrows.
        ([_named("In", "n1", "n2")], {"n1", "n2"}),
    ],
    ids=str,
)
def test_names_narrow_the_search(terms: list[Any], names: set[str] | None) -> None:
    """If every term asks for names, only those nodes are looked at; contradictions leave none."""
    assert names == _affinity(*terms).node_names()


def test_fields_compare_the_name() -> None:
    """In and NotIn with one value compare the node's name; with more they match nothing."""
    named, others, several = (
        _affinity(_named("In", "n1")),
        _affinity(_named("NotIn", "n1")),
        _affinity(_named("In", "n1", "n2")),
    )

    assert [True, False] == [named.matches(name, {}) for name in ("n1", "n2")]
    assert [False, True] == [others.matches(name, {}) for name in ("n1", "n2")]
    assert [False, False] == [several.matches(name, {}) for name in ("n1", "n2")]


def test_mistakes_are_told_at_their_paths() -> None:
    """Every mistake that the API server would refuse for its shape has a path, all at once."""
    terms = [
        {"matchExpressions": [{"key": "a", "operator": "Like"}, {"key": 1, "operator": None, "values": [2]}]},
        {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["y"]}]},
        "zone",
    ]
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    found = ErrorList()
    read = read_node_affinity({"affinity": affinity, "nodeSelector": {"zone": 1}}, SPEC, found)
    at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

    assert [
        "spec.nodeSelector[zone]",
        f"{at}[0].matchExpressions[0].operator",
        f"{at}[0].matchExpressions[1].key",
        f"{at}[0].matchExpressions[1].values[0]",
        f"{at}[0].matchExpressions[1].operator",
        f"{at}[1].matchFields[0].key",
        f"{at}[2]",
    ] == [str(error.path) for error in found.errors]
    assert not read.matches("y", {"a": "b"})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("+12", 12),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("0" * 100_000 + "1", 1),
        ("9" * 100_000, None),
        ("", None),
        ("-", None),
        ("1_000", None),
        ("1.0", None),
        (" 1", None),
        ("٣", None),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_integers_as_go_reads_them(text: str, number: int | None) -> None:
    """Digits with a sign and within int64, of any length; no spaces, underscores or other digits."""
    assert number == parse_int64(text)


_EITHER = [_expression("zone", "In", "a", "b")], [_expression("zone", "In", "c")]


@pytest.mark.parametrize(
    ("selector", "terms", "expected"),
    [
        pytest.param({"disk": "ssd"}, [[_expression("zone", "NotIn", "a")]], None, id="all but one"),
        pytest.param({}, _EITHER, {"a", "b", "c"}, id="either term"),
        pytest.param({"zone": "a"}, _EITHER, {"a"}, id="selected within the affinity"),
        pytest.param({"zone": "d"}, _EITHER, set(), id="a contradiction"),
        pytest.param({}, [*_EITHER, [_expression("disk", "Exists")]], None, id="a term without the label"),
        pytest.param({"zone": "a"}, [[_expression("disk", "Exists")]], {"a"}, id="selected alone"),
        pytest.param({}, [[*_EITHER[0], _expression("zone", "In", "b", "c")]], {"b"}, id="both expressions"),
    ],
)
def test_values_of(
    selector: dict[str, str], terms: list[list[dict[str, Any]]], expected: set[str] | None
) -> None:
    """A label has one of the values that are listed, if every way to match lists some."""
    affinity = _affinity(*({"matchExpressions": term} for term in terms), nodeSelector=selector)

    assert expected == affinity.values_of("zone")
