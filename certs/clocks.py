"""How far two clocks differ, and what that means for certificates. Pure: clocks are read elsewhere.

A certificate is judged by the clock of whoever verifies it. A signer whose clock is ahead makes certificates
that are not valid yet, one whose clock is behind makes some that end too soon.
"""

from __future__ import annotations

from datetime import timedelta

#: How long before now a certificate starts to be valid. Nodes without time synchronization drift by minutes a
#: month, and a time zone that was taken for another is off by an hour: with an hour both are harmless, and a
#: key that leaks is not trusted for a time before it existed that anyone logs by. Arbitrary.
BACKDATE = timedelta(hours=1)
#: How far the clocks of signer and verifier may differ. Half of what is backdated: the other half is left for
#: the verifiers, several API servers, among themselves.
TOLERANCE = BACKDATE / 2

_UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def clock_problem(skew: timedelta, whose: str = "this machine") -> str:
    """Return what is wrong with a clock that is ahead of the API server's by so much; empty if nothing is.

    >>> clock_problem(timedelta(minutes=30))
    ''
    >>> clock_problem(timedelta(days=250, hours=3))
    "the clock of this machine is 250 days ahead of the API server's"
    >>> clock_problem(-timedelta(minutes=61))
    "the clock of this machine is 1 hour behind the API server's"
    """
    if abs(skew) <= TOLERANCE:
        return ""
    unit, length = next(entry for entry in _UNITS if abs(skew) >= entry[1])
    # The API server tells whole seconds.
    count = round(abs(skew) / length)
    direction = "ahead of" if skew > timedelta(0) else "behind"
    return f"the clock of {whose} is {count} {unit}{'' if count == 1 else 's'} {direction} the API server's"
