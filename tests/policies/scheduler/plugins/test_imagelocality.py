"""Images that nodes have, by what each release scores; the default profile's tests do the rest."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.scheduler.profile import Plugin
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask

#: In MiB: a container's score grows from 23 to 1,000 of them.
SIZES = {"web:1": 300, "init:1": 600, "data:1": 900}


def a_node_with(*images: str) -> dict[str, Any]:
    node = a_node("n1")
    node["status"]["images"] = [{"names": [name], "sizeBytes": SIZES[name] * 2**20} for name in images]
    return node


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        pytest.param(29, 100 * (300 - 23) // (1000 - 23), id="1.29: the container"),
        pytest.param(30, 100 * (900 - 23) // (2000 - 23), id="1.30: init containers too"),
        pytest.param(36, 100 * (1800 - 23) // (2000 - 23), id="1.36: image volumes too"),
        pytest.param(37, 100 * (1800 - 23) // (3000 - 23), id="1.37: which count as a container"),
    ],
)
def test_releases(minor: int, expected: int) -> None:
    """By hand: 300 MiB of the container, 600 of an init container and 900 of a volume, on the only node."""
    pod = a_pod(
        "web",
        initContainers=[{"name": "i", "image": "init:1"}],
        volumes=[{"name": "v", "image": {"reference": "data:1"}}],
    )
    pod["spec"]["containers"][0]["image"] = "web:1"
    result = ask([a_node_with(*SIZES)], pod, behavior_of(KubernetesVersion(1, minor)))
    scores = {each.plugin: int(each.raw[0]) for each in result.plugin_scores}

    assert expected == scores[Plugin.IMAGE_LOCALITY]
