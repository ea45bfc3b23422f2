"""Hostile objects of every kind that is followed: the cache ends as the cluster is, and no watch ends.

``EVENKEEL_HOSTILE_OBJECTS`` is how many of each kind are watched in each run; half as many are listed before.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policies.model.labels import LabelSelector
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.kube.test_informer import a_cluster, an_object
from webhook.kube.informer import ClusterCache
from webhook.kube.watched_resources import WATCHED_RESOURCES

#: Hostile objects of each kind, in each of the runs, unless the environment says otherwise.
_OBJECTS = int(os.environ.get("EVENKEEL_HOSTILE_OBJECTS", "40"))
#: The label of repaired objects, which no hostile one has.
_MENDED = LabelSelector.parse({"matchLabels": {"turn": "last"}})
#: Values in place of those that belong there, as text.
_VALUES = (
    b"null", b"[]", b"{}", b'""', b"0", b"-1", b"1.5", b"true", b"9" * 400, b"-1e400", b"1E308", b'"\\ud800"',
    b'"\xff"', b"[null]", b'{"a": null}', b"nonsense", b"NaN", b"01", b'"' + b"x" * 100_000 + b'"',
    b"[" * 1_100 + b"]" * 1_100, b'{"f:a":' * 5_000 + b"{}" + b"}" * 5_000,
)  # fmt: skip


def _ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    )
    return [way, *(found for key, inner in entries for found in _ways(inner, (*way, key)))]


def _hostile(obj: dict[str, Any], chance: random.Random) -> bytes:
    """Return an object with another value somewhere, sometimes beside the right one."""
    copy: Any = json.loads(json.dumps(obj))
    way = chance.choice([way for way in _ways(copy) if way and way[-1] not in ("name", "namespace")])
    node = copy
    for key in way[:-1]:
        node = node[key]
    if isinstance(node, dict) and chance.random() < 0.3:
        node["unknown"] = "MARK"
    elif chance.random() < 0.3:
        copy["metadata"] = {"managedFields": "MARK", **(copy["metadata"] or {})}
    else:
        node[way[-1]] = "MARK"
    text = json.dumps(copy).encode().replace(b'"MARK"', chance.choice(_VALUES))
    return text[:-1] + b', "kind": [], "kind": 7}' if chance.random() < 0.2 else text


@pytest.mark.parametrize("seed", range(2))
def test_the_cache_ends_as_the_cluster(tmp_path: Path, seed: int) -> None:
    """Listed, watched, repaired and deleted: what can be read is there all the time, and no watch ends."""
    chance = random.Random(seed)
    kinds = [resource.kind for resource in WATCHED_RESOURCES]
    with serving(FakeApiServer()) as server:
        for kind in kinds:
            server.put(an_object(kind, "good"))
            for number in range(_OBJECTS // 2):
                obj = an_object(kind, f"odd-{number}")
                server.put(obj, _hostile(obj, chance))
        cluster = a_cluster(tmp_path, server.url)
        cluster.start()
        try:
            eventually(lambda: cluster.synced)
            for kind in kinds:
                for number in range(_OBJECTS):
                    obj = an_object(kind, f"odd-{number}")
                    server.put(obj, _hostile(obj, chance))
                server.tell(kind, "BOOKMARK", b'{"metadata": {"resourceVersion": [[]]}}')
                server.tell(
                    kind, "BOOKMARK", b"null" if chance.random() < 0.5 else b"[" * 2_000 + b"]" * 2_000
                )
                server.tell(kind, "MOVED", b'{"metadata": 7}')
                server.put(an_object(kind, "late"))
            eventually(_holds(cluster, lambda names: {"good", "late"} <= names))
            for kind in kinds:
                for number in range(_OBJECTS):
                    obj = an_object(kind, f"odd-{number}")
                    if number % 3:
                        obj["metadata"]["labels"] = {"turn": "last"}
                        server.put(obj)
                    else:
                        server.delete(obj, _hostile(obj, chance))
                server.tell(kind, "ERROR", b'{"code": "?", "message": ' + chance.choice(_VALUES) + b"}")
            left = {f"odd-{number}" for number in range(_OBJECTS) if number % 3} | {"good", "late"}
            eventually(_holds(cluster, lambda names: names == left))
            mended = len(left) - 2
            eventually(lambda: cluster.index.count_pods("shop", _MENDED) == mended)
            assert len(left) == cluster.index.pod_count
            eventually(lambda: not cluster.left_out())
            eventually(lambda: not any(kind.last_error for kind in cluster.kinds()))
        finally:
            cluster.stop()


def _holds(cluster: ClusterCache, expected: Callable[[set[str]], bool]) -> Callable[[], bool]:
    """Return a condition: whether the names of every kind are as expected."""

    def told() -> bool:
        return all(
            expected({name for _, name in cluster.index.names((resource.api_version, resource.kind))})
            for resource in WATCHED_RESOURCES
        )

    return told
