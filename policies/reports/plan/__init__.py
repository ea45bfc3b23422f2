"""Plans of ``evenkeel plan``, one module per output format."""

from typing import Final

#: The formats of a plan.
FORMATS: Final = ("text", "json", "yaml", "markdown", "html")
