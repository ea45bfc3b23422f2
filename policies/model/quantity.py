"""Quantities: how Kubernetes writes amounts of resources.

They are counted exactly, in billionths, which is as fine as Kubernetes' own get. Source:
``apimachinery/pkg/api/resource``, Kubernetes 1.36.
"""

from __future__ import annotations

import re
from functools import lru_cache

from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    invalid_value,
    shown_name,
)

#: The largest amount: Go's int64. More than that counts as that.
INT64_MAX = 2**63 - 1
#: Parts of a unit that are told apart: ``resource.Nano``.
BILLION = 10**9
#: The largest quantity that is told from larger ones, in billionths: past int64 in any unit.
LARGEST = 10**22 * BILLION
#: Longest text that is read as a quantity. The API server itself writes some twenty characters.
QUANTITY_LENGTH = 128
#: Longest text whose quantity is kept. Keeps hostile ones from filling the memory.
CACHED_LENGTH = 64
#: How many quantities are kept. A cluster uses a few hundred.
CACHED_QUANTITIES = 4096
#: The rule that a quantity breaks which Kubernetes cannot read, or does not allow below zero.
QUANTITY_INVALID = "quantity-invalid"

_QUANTITY = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+|)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(raw: object) -> int | None:
    """Return a quantity in billionths of its unit; None for what is no quantity.

    As in Kubernetes, what is finer than a billionth rounds away from zero, and null is zero.

    >>> parse_quantity("1.5Ki") == 1536 * 10**9, parse_quantity("100m"), parse_quantity("1 GB")
    (True, 100000000, None)
    """
    if type(raw) is str:
        return _cached(raw) if len(raw) <= CACHED_LENGTH else _parse(raw)
    if raw is None:
        return 0
    if type(raw) is int:
        return max(-LARGEST, min(raw * BILLION, LARGEST))
    return _parse(repr(raw)) if type(raw) is float else None


def amount(name: str, raw: object) -> int | None:
    """Return a quantity as the scheduler compares it: see ``rounded``; None for what is no quantity.

    >>> amount("cpu", "1.5"), amount("memory", "1Ki"), amount("pods", 0.1)
    (1500, 1024, 1)
    """
    quantity = parse_quantity(raw)
    return None if quantity is None else rounded(name, quantity)


def rounded(name: str, quantity: int) -> int:
    """Return billionths as thousandths of cpu, or units of anything else, away from zero, within int64."""
    size = min(-(-abs(quantity) // unit_of(name)), INT64_MAX)
    return size if quantity >= 0 else -size


def unit_of(name: str) -> int:
    """Return in how many billionths a resource is counted: thousandths of cpu, units of anything else."""
    return BILLION // 1000 if name == "cpu" else BILLION


def read_quantities(raw: object, path: FieldPath, found: ErrorList) -> dict[str, int]:
    """Read a mapping of resource names to quantities, in billionths; record what is none, or negative."""
    quantities = {}
    for name, value in found.mapping(raw, path).items():
        quantity = parse_quantity(value)
        if quantity is not None and quantity >= 0:
            quantities[name] = quantity
        elif not found.has_enough(QUANTITY_INVALID):
            where = path.key(shown_name(name))
            form = "must be a quantity such as 500m, 2 or 1.5Gi"
            text = form if quantity is None else "must be greater than or equal to 0"
            found.add(invalid_value(where, value, text, QUANTITY_INVALID))
    return quantities


def read_amounts(raw: object, path: FieldPath, found: ErrorList) -> dict[str, int]:
    """Read a mapping of resource names to quantities as the scheduler compares them: see ``rounded``."""
    return {name: rounded(name, quantity) for name, quantity in read_quantities(raw, path, found).items()}


def _parse(text: str) -> int | None:
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= QUANTITY_LENGTH else None
    if match is None:
        return None
    sign, number, suffix = match[1], match[2], match[3]
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction)
    exponent = 9 - len(fraction)
    if suffix in _BINARY:
        digits <<= _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent += _DECIMAL[suffix]
    else:
        power = int(suffix[1:])
        if not -INT64_MAX - 1 <= power <= INT64_MAX:
            return None
        # Further out every quantity but zero is the largest, or the smallest, that there is.
        exponent += max(-2 * QUANTITY_LENGTH, min(power, 2 * QUANTITY_LENGTH))
    size: int = digits * 10**exponent if exponent >= 0 else -(-digits // 10**-exponent)
    size = min(size, LARGEST)
    return -size if sign == "-" else size


_cached = lru_cache(CACHED_QUANTITIES)(_parse)
