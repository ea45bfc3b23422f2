"""Quantities."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.quantity import (
    BILLION,
    INT64_MAX,
    amount,
    parse_quantity,
    read_amounts,
    read_quantities,
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1.5", Fraction(-3, 2)),
        ("007", 7),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("5n", Fraction(5, 10**9)),
        ("5u", Fraction(5, 10**6)),
        ("100m", Fraction(1, 10)),
        ("2k", 2000),
        ("2M", 2 * 10**6),
        ("2G", 2 * 10**9),
        ("2T", 2 * 10**12),
        ("2P", 2 * 10**15),
        ("2E", 2 * 10**18),
        ("1Ki", 2**10),
        ("1.5Mi", 3 * 2**19),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("12e6", 12 * 10**6),
        ("12E-3", Fraction(12, 1000)),
        ("1e+3", 1000),
        ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)),
        ("1e-999999999", Fraction(1, 10**9)),
        ("0e999999999", 0),
        (" 1 ", 1),
        (3, 3),
        (0.25, Fraction(1, 4)),
        (1e16, 10**16),
        (None, 0),
    ],
    ids=repr,
)
def test_quantities(raw: object, value: Fraction | int) -> None:
    """Every suffix and form of Kubernetes is read exactly; what is finer than a billionth rounds outward."""
    assert value * BILLION == parse_quantity(raw)


@pytest.mark.parametrize(
    "raw",
    [
        *("", "-", ".", "m", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i", "-3.01i", "-3.01e-"),
        *("1 Gi", "1K", "1ki", "1e", "1e1.5", "1e99999999999999999999", "٣", "1\x00", "0x10", "1_000", "inf"),
        *(True, [], {}, float("nan"), float("inf"), "1" * 129, "0" * 5_000_000),
    ],
    ids=lambda raw: repr(raw)[:24],
)
def test_no_quantities(raw: object) -> None:
    """A text that Kubernetes does not read, or longer than anybody writes, is no quantity."""
    assert parse_quantity(raw) is None


@pytest.mark.parametrize(
    "raw",
    [
        "1e30",
        "1e999999999",
        "1e9223372036854775807",
        pytest.param(10**10_000, id="an integer of 10,001 digits"),
        pytest.param("9" * 128, id="128 digits"),
    ],
)
def test_huge_quantities_cost_nothing(raw: object) -> None:
    """An exponent is no way to fill the memory: more than fits an int64 is as much as fits."""
    assert INT64_MAX == amount("memory", raw)


@pytest.mark.parametrize(
    ("name", "raw", "size"),
    [
        ("cpu", "1", 1000),
        ("cpu", "100.5m", 101),
        ("cpu", "1n", 1),
        ("cpu", "-1.5m", -2),
        ("memory", "1.2", 2),
        ("memory", "100m", 1),
        ("memory", "1Ki", 1024),
        ("pods", "110", 110),
        ("cpu", "8Ei", INT64_MAX),
        ("cpu", "much", None),
    ],
)
def test_amounts_round_up(name: str, raw: str, size: int | None) -> None:
    """The scheduler compares thousandths of cpu and whole units of anything else, rounded up."""
    assert size == amount(name, raw)


@given(st.integers(-(10**12), 10**12), st.integers(0, 9), st.sampled_from(["", "m", "k", "Ki", "Gi", "e3"]))
def test_decimals_are_exact(digits: int, places: int, suffix: str) -> None:
    """A decimal number with a suffix is that number times its factor, rounded up to a billionth."""
    factors = {
        "": Fraction(1), "m": Fraction(1, 1000), "k": Fraction(1000), "Ki": Fraction(2**10),
        "Gi": Fraction(2**30), "e3": Fraction(1000),
    }  # fmt: skip
    text = f"{abs(digits):0{places + 1}d}"
    number = f"{text[: len(text) - places]}.{text[len(text) - places :]}" if places else text
    exact = Fraction(abs(digits), 10**places) * factors[suffix] * BILLION
    size = -(-exact.numerator // exact.denominator)

    assert (-size if digits < 0 else size) == parse_quantity(f"{'-' if digits < 0 else ''}{number}{suffix}")


def test_mistakes_in_a_mapping_are_told() -> None:
    """Amounts that are no quantity, or negative, are left out and told at their keys."""
    found = ErrorList()
    raw = {"cpu": "2", "memory": "1 GB", "pods": [], "example.com/gpu": "-1"}

    assert {"cpu": 2000} == read_amounts(raw, FieldPath(("status", "allocatable")), found)
    assert [f"status.allocatable[{name}]" for name in ("memory", "pods", "example.com/gpu")] == [
        str(error.path) for error in found.errors
    ]


def test_a_mapping_may_be_absent() -> None:
    """Null is an empty mapping; anything else is told."""
    found = ErrorList()

    assert {} == read_quantities(None, FieldPath(("a",)), found)
    assert {} == read_quantities("2 cpus", FieldPath(("b",)), found)
    assert ["b"] == [str(error.path) for error in found.errors]
