"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Two busy cores say nothing about speed, so no example has a deadline. In CI the examples are the same each
# time: a red run must be about the change; new examples are found at every other run.
settings.register_profile("evenkeel", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("evenkeel")
