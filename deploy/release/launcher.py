#!/usr/bin/env python3
"""Runs Evenkeel with the packages beside this file; it needs nothing but a Python that they were built for.

Written for any Python 3, since ``python3`` may be one that Evenkeel does not run on: a newer one on the path
is taken instead.
"""

import os
import shutil
import sys

_LIB = os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib")
_OWN = "python%d.%d" % sys.version_info[:2]


def _versions() -> "list[str]":
    """Return the names of the Pythons that there are packages for, the newest first."""
    found = [name for name in os.listdir(_LIB) if name.startswith("python")]
    return sorted(found, key=lambda name: int(name.partition(".")[2]), reverse=True)


def _run() -> None:
    versions = _versions()
    if _OWN not in versions:
        for name in versions:
            other = shutil.which(name)
            if other is not None:
                os.execv(other, [other, os.path.realpath(__file__)] + sys.argv[1:])  # noqa: RUF005, S606
        known = [name[len("python") :] for name in reversed(versions)]
        sys.stderr.write(
            "evenkeel: needs Python %s or %s on the path, %s is %s\n"
            % (", ".join(known[:-1]), known[-1], sys.executable, _OWN[len("python") :])
        )
        sys.exit(3)
    sys.path[:0] = [os.path.join(_LIB, _OWN), os.path.join(_LIB, "all")]
    from kube_evenkeel.start import run  # noqa: PLC0415  # found only now

    run()


_run()
