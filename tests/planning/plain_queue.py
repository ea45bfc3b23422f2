"""Pods with priorities that are scheduled one after another: a plain loop over single verdicts."""

from __future__ import annotations

import copy
from typing import Any

from policies.scheduler.evaluate import evaluate
from tests.policies.scheduler.clusters import a_request, an_index

Object = dict[str, Any]


class PlainQueue:
    """A cluster of objects, of which every verdict starts anew.

    Attributes:
        pods: The pods by name, in the order in which they were seen.
    """

    def __init__(self, nodes: list[Object], bound: list[Object]) -> None:
        self._nodes = nodes
        self.pods = {pod["metadata"]["name"]: copy.deepcopy(pod) for pod in bound}

    def attempt(self, pod: Object) -> None:
        """Bind a pod, or let it wait for room, or for nothing."""
        name = pod["metadata"]["name"]
        known = self.pods.pop(name, pod)
        index = an_index([*self._nodes, *self.pods.values()])
        result = evaluate(a_request(known, {}, index), index)
        after = copy.deepcopy(known)
        after["status"].pop("nominatedNodeName", None)
        if result.best:
            after["spec"]["nodeName"] = result.names[result.best[0]]
        elif result.preemption is not None and result.preemption.nominated:
            self._make_room(after, result.preemption.nominated[0], result.preemption.victims)
        self.pods[name] = after

    def _make_room(self, pod: Object, node: str, victims: Any) -> None:
        for victim in victims[node]:
            del self.pods[victim.partition("/")[2]]
        for other in self.pods.values():
            lower = other["spec"]["priority"] < pod["spec"]["priority"]
            if lower and other["status"].get("nominatedNodeName") == node:
                del other["status"]["nominatedNodeName"]
        pod["status"]["nominatedNodeName"] = node

    def places(self) -> dict[str, str]:
        """Return the node of each pod that has one."""
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods.items() if pod["spec"]["nodeName"]}

    def run(self, queue: list[Object]) -> None:
        """Schedule pods in their order, then those without a node by priority, while some wait for room."""
        for pod in queue:
            self.attempt(pod)
        while any(pod["metadata"]["name"] not in self.pods for pod in queue) or any(
            pod["status"].get("nominatedNodeName") and not pod["spec"]["nodeName"]
            for pod in self.pods.values()
        ):
            waiting = [pod for pod in queue if pod["metadata"]["name"] not in self.places()]
            for pod in sorted(waiting, key=lambda pod: -pod["spec"]["priority"]):
                self.attempt(pod)
