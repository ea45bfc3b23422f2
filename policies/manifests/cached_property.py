"""``cached_property`` as Python 3.12 has it: 3.11's takes a lock that all instances share.

The lock costs more than most values, and makes threads wait for one another that read different objects.
Two threads may compute a value at once; they must get the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801  # the name of the standard library
        """A value that is computed when it is first read, and then kept in the instance."""

        def __init__(self, function):  # mypy reads the branch above
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            """Return the value, or itself for the class."""
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self.func(instance)
            return value
