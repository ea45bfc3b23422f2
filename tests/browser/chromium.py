"""Finds the browser: Debian's chromium, or the one that ``EVENKEEL_CHROMIUM`` names."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

#: The environment variable that names a chromium.
VARIABLE = "EVENKEEL_CHROMIUM"
#: How chromium is called by distributions and vendors.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium(environment: Mapping[str, str]) -> str | None:
    """Return the path of a chromium; None if there is none."""
    named = environment.get(VARIABLE)
    if named is not None:
        return named if Path(named).exists() else None
    return next(filter(None, map(shutil.which, NAMES)), None)


def missing_chromium(environment: Mapping[str, str]) -> str:
    """Return what to say where there is no chromium; empty if there is one."""
    if find_chromium(environment):
        return ""
    if VARIABLE in environment:
        why = f"{VARIABLE} names no file: {environment[VARIABLE]!r}"
    else:
        why = f"none of {', '.join(NAMES)} is on PATH, and {VARIABLE} names none"
    return f"The page was NOT tried in a browser: {why}."
