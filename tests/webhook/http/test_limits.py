"""How much is scored at once."""

from __future__ import annotations

import pytest

from webhook.http.limits import BusyError, MaxConcurrent


def test_places() -> None:
    """As many requests as there are places are let in, and others when one is free again."""
    limit = MaxConcurrent(2)
    with limit.enter(large=False), limit.enter(large=False), pytest.raises(BusyError):
        limit.enter(large=False).__enter__()
    with limit.enter(large=False), limit.enter(large=False):
        pass


def test_one_large() -> None:
    """Of the large ones one is let in; the refused one holds no place."""
    limit = MaxConcurrent(2)
    with limit.enter(large=True):
        with pytest.raises(BusyError), limit.enter(large=True):
            pass
        with limit.enter(large=False):
            pass


def test_errors_free_the_place() -> None:
    """A place is free again however its request ended."""
    limit = MaxConcurrent(1)
    with pytest.raises(ZeroDivisionError), limit.enter(large=True):
        _ = 1 / 0
    with limit.enter(large=True):
        pass
