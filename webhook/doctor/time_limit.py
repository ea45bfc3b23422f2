"""The time limit of what the doctor asks the API server."""

from __future__ import annotations

from typing import Final

#: Seconds for everything that the API server itself answers. Counting the pods of a large cluster takes most.
TIMEOUT_S: Final = 30.0
