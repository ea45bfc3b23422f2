"""How long certificates are valid, and what it means for them if clocks differ.

Pure: clocks are read elsewhere.

A certificate is valid by the clock of the client that verifies it. A signer whose clock is ahead issues
certificates that are not valid yet, one whose clock is behind issues some that end too soon.
"""

from __future__ import annotations

from datetime import timedelta

#: How long before now a certificate starts to be valid. Nodes without time synchronization drift by minutes a
#: month, and a wrong time zone is off by an hour: with an hour both are harmless.
BACKDATE = timedelta(hours=1)
#: How far the clocks of signer and verifier may differ. The other half of what is backdated is left for the
#: differences between several API servers.
TOLERANCE = BACKDATE / 2

#: How long a CA is valid. Ten years outlive most clusters, and a new CA means that every webhook
#: configuration must trust it first.
CA_LIFETIME = timedelta(days=3650)
#: How long a serving certificate is valid. A year is short enough to practice rotation and long enough to
#: live without it.
SERVING_LIFETIME = timedelta(days=365)

_UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def clock_problem(skew: timedelta) -> str:
    """Return the problem of a clock that is off from the API server's by ``skew``; empty if there is none.

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
    # The API server sends whole seconds.
    count = round(abs(skew) / length)
    off = f"{count} {unit}{'' if count == 1 else 's'} {'ahead of' if skew > timedelta(0) else 'behind'}"
    return f"the clock of this machine is {off} the API server's"
