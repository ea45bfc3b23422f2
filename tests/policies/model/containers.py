"""Containers that ask for CPU."""

from __future__ import annotations

from typing import Any


def a_container(cpu: str | None = None, *, name: str = "c", **fields: Any) -> dict[str, Any]:
    """Return a container with a request, or without resources."""
    resources = {} if cpu is None else {"resources": {"requests": {"cpu": cpu}}}
    return {"name": name, **resources, **fields}
