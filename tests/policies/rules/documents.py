"""Objects as the text of manifests."""

from __future__ import annotations

import json
from typing import Any


def text_of(*objects: dict[str, Any]) -> str:
    """Return objects as one document of a List; JSON is YAML."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
