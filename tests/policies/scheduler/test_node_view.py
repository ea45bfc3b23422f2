"""The nodes that are kept from one evaluation to the next are those that a new index has."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from policies.config.context import AdmissionContext
from policies.model.taints import Taint
from policies.pods.placement import prepare, read_workload
from policies.scheduler.evaluate import evaluate
from policies.scheduler.node_table import MOST_CHANGES
from tests.builders import a_constraint, a_node, a_pod
from tests.policies.scheduler.clusters import an_index


@pytest.mark.parametrize("seed", range(5))
def test_kept_and_new(seed: int) -> None:
    """After any changes of pods and nodes, evaluations agree with a fork, which keeps nothing."""
    random = Random(seed)
    index = an_index([a_node(f"n{number}", "abc"[number % 3]) for number in range(9)])
    context, requests = AdmissionContext(policies=(), cluster=index), []
    for cpu in ("1", "500m"):
        containers = [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}]
        soft = a_constraint(whenUnsatisfiable="ScheduleAnyway", topologyKey="kubernetes.io/hostname")
        spec = {"containers": containers, "topologySpreadConstraints": [a_constraint(maxSkew=2), soft]}
        requests.append(prepare(read_workload(a_pod(spec=spec), context), context).request)
    for step in range(60):
        request, name = random.choice(requests), f"n{random.randrange(10)}"
        node = index.nodes.find(name)
        match random.randrange(6):
            case 0 if node is not None:
                taint = Taint("team", str(step), random.choice(["NoSchedule", "PreferNoSchedule"]))
                index.nodes.put(node._replace(taints=random.choice([(), (taint,)])))
            case 1:
                index.remove("v1", "Node", "", name)
            case 2:
                index.apply(a_node(name, random.choice("abcd")))
            case 3:
                index.remove("v1", "Pod", request.pod.namespace, f"p{random.randrange(step + 1)}")
            case _:
                index.bind(request.pod, f"p{step}", name)
        for each in requests:
            kept, new = evaluate(each, index), evaluate(each, index.fork(""))

            assert (new.names, new.best, new.message) == (kept.names, kept.best, kept.message)
            assert np.array_equal(new.total, kept.total)
            assert all(map(np.array_equal, *([r.of_node for r in e.rejections] for e in (new, kept))))


def test_many_changes() -> None:
    """Where more pods came and went than are noted, everything is computed anew."""
    index = an_index([a_node("n1", "a")])
    context = AdmissionContext(policies=(), cluster=index)
    request = prepare(read_workload(a_pod(), context), context).request
    before = evaluate(request, index).total[0]
    index.bind(request.pod, "stays", "n1")
    for number in range(MOST_CHANGES // 2):
        index.bind(request.pod, f"p{number}", "n1")
        index.remove("v1", "Pod", request.pod.namespace, f"p{number}")

    assert len(index.nodes.derived.changes) <= MOST_CHANGES
    assert evaluate(request, index.fork("")).total[0] == evaluate(request, index).total[0] <= before
