"""A test of many values of one kind, such as the files of the project or the lines of a recording."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import Signature
from typing import TypeVar

T = TypeVar("T")


def for_each(
    values: Collection[T], name: Callable[[T], object] = repr
) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Make a test of one value a test of all, whose failure lists every value that fails and how.

    pytest takes longer to collect and report a case than most of these take. A table of cases that differ in
    kind is ``pytest.mark.parametrize``.

    Args:
        values: What the test is called with, one after another.
        name: Returns what a failure calls a value.
    """

    def decorate(test: Callable[[T], None]) -> Callable[[], None]:
        @wraps(test)
        def all_of_them() -> None:
            failures = []
            for value in values:
                try:
                    test(value)
                except Exception as error:  # noqa: BLE001  # it is raised with the others
                    error.add_note(f"{name(value)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(values)} fail", failures)

        # No value is a fixture.
        all_of_them.__signature__ = Signature()  # type: ignore[attr-defined]
        return all_of_them

    return decorate
