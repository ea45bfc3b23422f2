"""The JSON of an answer as YAML: the same fields, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
import yaml

#: libyaml's where PyYAML was built with it, which takes a fifth of the time.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def yaml_parts(body: bytes | str) -> Iterator[str]:
    """Yield an answer, a JSON object, as YAML.

    Each entry of a list is written alone: for all at once PyYAML takes twice the memory.
    """
    answer: dict[str, Any] = orjson.loads(body)
    for name, value in answer.items():
        if isinstance(value, list) and value:
            yield f"{name}:\n"
            yield from (_as_yaml([entry]) for entry in value)
        else:
            yield _as_yaml({name: value})


def _as_yaml(value: object) -> str:
    return yaml.dump(value, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
