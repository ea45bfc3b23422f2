"""The formats of a plan."""

from __future__ import annotations

from typing import Final

#: The formats of a plan.
FORMATS: Final = ("text", "json", "yaml", "markdown", "html")
