"""The fields that a release may have and the rules do not know."""

from __future__ import annotations

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from tests.policies.rules.run_rules import problems

POD = """
apiVersion: v1
kind: Pod
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, newest: 1}
"""


@pytest.mark.parametrize(("version", "expected"), [("1.36", 1), ("1.37", 0)])
def test_releases(version: str, expected: int) -> None:
    """A field that a newer release may have brought is not an error there."""
    context = Context(version=KubernetesVersion.parse(version))

    assert expected == len(problems("affinity-term-invalid", POD, context))
