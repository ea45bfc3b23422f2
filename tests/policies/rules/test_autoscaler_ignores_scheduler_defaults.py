"""Tests of autoscaler-ignores-scheduler-defaults."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.repository import Repository
from policies.rules.autoscaler_ignores_scheduler_defaults import Params, check
from policies.rules.base import Context
from tests.builders import a_workload
from tests.policies.model.workloads import workload_of

NODE_POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}}
FIELD = "profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable"


def _config(action: str, **fields: Any) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": action, **fields}
    arguments = {"defaultingType": "List", "defaultConstraints": [constraint]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}]}],
    }


def _autoscaler(*options: str) -> dict[str, Any]:
    container = {"name": "c", "image": "cluster-autoscaler:v1.34.2", "args": list(options)}
    return a_workload(spec={"containers": [container]})


@pytest.mark.parametrize(
    ("config", "objects", "expected"),
    [
        pytest.param(_config("DoNotSchedule"), [NODE_POOL], [FIELD], id="hard, Karpenter"),
        pytest.param(_config("DoNotSchedule"), [_autoscaler()], [FIELD], id="hard, Cluster Autoscaler"),
        pytest.param(
            _config("DoNotSchedule"),
            [_autoscaler("--scheduler-config-file=/etc/scheduler.yaml")],
            [],
            id="which reads it",
        ),
        pytest.param(_config("ScheduleAnyway"), [NODE_POOL], [], id="soft"),
        pytest.param(
            _config("DoNotSchedule", maxSkew=0), [NODE_POOL], [], id="refused by the scheduler anyway"
        ),
        pytest.param(_config("DoNotSchedule"), [], [], id="nobody adds nodes"),
    ],
)
def test_which_tool_is_there(
    config: dict[str, Any], objects: list[dict[str, Any]], expected: list[str]
) -> None:
    """A hard default matters where a tool adds nodes that cannot see it."""
    workloads = [workload_of(obj) for obj in objects if obj is not NODE_POOL]
    repository = Repository.of(workloads, [obj for obj in objects if obj is NODE_POOL])
    problems = check(config, Context(repository=repository, params=Params()))

    assert expected == [str(problem.path) for problem in problems]


def test_a_tool_that_the_policy_tells_of() -> None:
    """The policy may say that the cluster has one."""
    problems = check(_config("DoNotSchedule"), Context(params=Params(in_use=True)))

    assert [FIELD] == [str(problem.path) for problem in problems]
