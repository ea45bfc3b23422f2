"""How much is scored at once."""

from __future__ import annotations

import pytest

from webhook.http.limits import BusyError, Gate


def test_places() -> None:
    """As many requests as there are places are let in, and others when one is free again."""
    gate = Gate(2)
    with gate.enter(large=False), gate.enter(large=False), pytest.raises(BusyError):
        gate.enter(large=False).__enter__()
    with gate.enter(large=False), gate.enter(large=False):
        pass


def test_one_large() -> None:
    """Of the large ones one is let in; the refused one holds no place."""
    gate = Gate(2)
    with gate.enter(large=True):
        with pytest.raises(BusyError), gate.enter(large=True):
            pass
        with gate.enter(large=False):
            pass


def test_errors_free_the_place() -> None:
    """A place is free again however its request ended."""
    gate = Gate(1)
    with pytest.raises(ZeroDivisionError), gate.enter(large=True):
        _ = 1 / 0
    with gate.enter(large=True):
        pass
