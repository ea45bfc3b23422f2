"""The meaning of an unquoted scalar to kubectl."""

from __future__ import annotations

import math
from typing import Any

import pytest

from policies.manifests import scalars


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("web", "web", id="a word"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("Null", None, id="Null"),
        pytest.param("nULL", "nULL", id="nULL is text"),
        pytest.param("yes", True, id="yes"),
        pytest.param("Off", False, id="Off"),
        pytest.param("y", True, id="y"),
        pytest.param("N", False, id="N"),
        pytest.param("yEs", "yEs", id="yEs is text"),
        pytest.param("12", 12, id="12"),
        pytest.param("-12", -12, id="-12"),
        pytest.param("+12", 12, id="+12"),
        pytest.param("017", 15, id="017 is octal"),
        pytest.param("0o17", 15, id="0o17 is octal"),
        pytest.param("-0o17", -15, id="-0o17 is octal"),
        pytest.param("08", 8, id="08 is no octal and so a float"),
        pytest.param("0x1F", 31, id="0x1F"),
        pytest.param("-0b11", -3, id="-0b11"),
        pytest.param("1_000", 1000, id="1_000"),
        pytest.param("1.0", 1, id="1.0 is an integer in JSON"),
        pytest.param("1.5", 1.5, id="1.5"),
        pytest.param(".5", 0.5, id=".5"),
        pytest.param("1.", 1, id="1."),
        pytest.param("1e3", 1000, id="1e3 is an integer in JSON"),
        pytest.param("1e30", 1e30, id="1e30 keeps its exponent in JSON"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest uint64 stays exact"),
        pytest.param("18446744073709551617", 2**64, id="2^64+1 is rounded as a float"),
        pytest.param("12345678901234567890123", 1.2345678901234568e22, id="23 digits: a float"),
        pytest.param("12:30:45", "12:30:45", id="no base 60"),
        pytest.param("2001-12-14", "2001-12-14", id="a date stays text"),
        pytest.param("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z", id="a time stays text"),
        pytest.param("100m", "100m", id="a quantity"),
        pytest.param("1.2.3", "1.2.3", id="a version"),
        pytest.param("-", "-", id="a dash"),
        pytest.param("._", "._", id="a dot"),
    ],
)
def test_unquoted(text: str, expected: object) -> None:
    """An unquoted scalar is what go-yaml v2 makes of it."""
    found = scalars.unquoted(text)

    assert (expected, type(expected)) == (found, type(found))


@pytest.mark.parametrize("text", [".nan", ".inf", "-.INF"])
def test_no_json_number(text: str) -> None:
    """A number that JSON cannot hold is refused."""
    with pytest.raises(ValueError, match="no such value"):
        scalars.unquoted(text)


@pytest.mark.parametrize(
    ("tag", "text", "expected"),
    [
        pytest.param("tag:yaml.org,2002:str", "1", "1", id="!!str"),
        pytest.param("tag:yaml.org,2002:int", "0x10", 16, id="!!int"),
        pytest.param("tag:yaml.org,2002:float", "2", 2, id="!!float on an integer"),
        pytest.param("tag:yaml.org,2002:bool", "on", True, id="!!bool"),
        pytest.param("tag:yaml.org,2002:null", "", None, id="!!null"),
        pytest.param("tag:yaml.org,2002:timestamp", "2001-12-14", "2001-12-14", id="!!timestamp"),
        pytest.param("!", "1", "1", id="! alone"),
        pytest.param("!Ref", "1", "1", id="a tag of another tool"),
    ],
)
def test_tagged(tag: str, text: str, expected: object) -> None:
    """A tag decides the type; an unknown one makes text."""
    assert expected == scalars.tagged(tag, text)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        pytest.param("tag:yaml.org,2002:int", "x", id="!!int on text"),
        pytest.param("tag:yaml.org,2002:int", "true", id="!!int on a boolean"),
        pytest.param("tag:yaml.org,2002:bool", "1", id="!!bool on an integer"),
        pytest.param("tag:yaml.org,2002:binary", "aGk", id="!!binary"),
    ],
)
def test_tag_that_does_not_fit(tag: str, text: str) -> None:
    """A tag on a value that is none of it is refused."""
    with pytest.raises(ValueError, match="!!"):
        scalars.tagged(tag, text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "a"), (8080, "8080"), (True, "true"), (False, "false"), (1.5, "1.5")],
)
def test_as_key(value: scalars.Scalar, expected: str) -> None:
    """A number or boolean that stands as a key is spelled as kubectl spells it."""
    assert expected == scalars.as_key(value)


def test_null_as_key() -> None:
    """Null is no key."""
    with pytest.raises(ValueError, match="keys are strings"):
        scalars.as_key(None)


def test_as_number_refuses_nan() -> None:
    """JSON has no NaN."""
    with pytest.raises(ValueError, match="no such value"):
        scalars.as_number(math.nan)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("{{ .Values.topologyKey }}", True, id="Helm"),
        pytest.param("{% raw %}", True, id="Jinja"),
        pytest.param("${ZONE_KEY:=topology.kubernetes.io/zone}", True, id="Flux"),
        pytest.param("$(ZONE_KEY)", True, id="Kustomize"),
        pytest.param("<%= key %>", True, id="ERB"),
        pytest.param([{"a": 1}, {"b": ["x", "${B}"]}], True, id="deep in a list"),
        pytest.param({"${KEY}": 1}, True, id="a key"),
        pytest.param("topology.kubernetes.io/zone", False, id="a label"),
        pytest.param({"maxSkew": 1, "labelSelector": None}, False, id="no text at all"),
        pytest.param("$5 {off}", False, id="signs that start none"),
    ],
)
def test_has_placeholder(value: Any, *, expected: bool) -> None:
    """One placeholder anywhere leaves a value open."""
    assert expected == scalars.has_placeholder(value)
