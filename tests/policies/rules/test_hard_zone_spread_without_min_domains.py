"""A hard zone constraint of an autoscaled workload that forgets zones without a node."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.topology import ClusterTopology
from policies.model.topology_keys import ZONE
from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from policies.rules.hard_zone_spread_without_min_domains import Params
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "hard-zone-spread-without-min-domains"
AUTOSCALED = Context(params=Params(autoscaled=True))


def found(context: Context, *, replicas: int = 3, **fields: Any) -> int:
    workload = a_workload(spec={"topologySpreadConstraints": [a_constraint(**fields)]})
    workload["spec"]["replicas"] = replicas
    return len(problems(RULE, text_of(workload), context))


@pytest.mark.parametrize(
    ("context", "fields", "expected"),
    [
        pytest.param(Context(params=Params()), {}, 0, id="nothing scales"),
        pytest.param(AUTOSCALED, {}, 1, id="nodes come and go"),
        pytest.param(AUTOSCALED, {"minDomains": 1}, 0, id="minDomains 1 is said on purpose"),
        pytest.param(AUTOSCALED, {"whenUnsatisfiable": "ScheduleAnyway"}, 0, id="soft"),
        pytest.param(AUTOSCALED, {"topologyKey": "kubernetes.io/hostname"}, 0, id="hosts come with pods"),
        pytest.param(AUTOSCALED, {"labelSelector": {"matchLabels": {"app": "api"}}}, 0, id="counts others"),
        pytest.param(AUTOSCALED, {"replicas": 1}, 0, id="1 replica"),
        pytest.param(AUTOSCALED, {"maxSkew": 2}, 1, id="maxSkew 2 of 3 pods"),
        pytest.param(AUTOSCALED, {"maxSkew": 3}, 0, id="maxSkew 3: all 3 pods may share a zone anyway"),
        pytest.param(
            Context(params=Params(autoscaled=True), version=KubernetesVersion(1, 26)), {}, 0, id="1.26"
        ),
        pytest.param(
            Context(params=Params(autoscaled=True), inventory=ClusterTopology(domains={ZONE: ("a",)})),
            {},
            0,
            id="one zone is all there is",
        ),
    ],
)
def test_finds(context: Context, fields: dict[str, Any], expected: int) -> None:
    """A hard zone constraint that could lose a zone is reported where something scales."""
    assert expected == found(context, **fields)
