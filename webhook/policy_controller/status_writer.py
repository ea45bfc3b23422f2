"""Writes the status of the cluster's policies, in one replica: whether each is accepted, and what it does.

The last version without errors goes into the status at once, since a replica that starts later knows it from
there alone. Workloads are counted afterwards, and now and then again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from policies.admission.policy_effect import PolicyEffect, PolicyEffects
from policies.config.context import AdmissionContext
from policies.config.policy_resource import PolicyResource, PolicyWorkloads, policy_status
from policies.config.spread_policy import SpreadPolicy
from policies.model.cluster_workloads import ClusterWorkloads
from webhook.component import Elect, LeaderComponent, Throttle
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.kube.watched_resources import SPREAD_POLICIES
from webhook.policy_controller.controller import PolicyResources, policies_of
from webhook.telemetry.logs import ProblemLog

#: Seconds between two looks at what has changed.
_LOOK_EVERY_S: Final = 0.5
#: Seconds after which workloads are counted again though no policy has changed. 10,000 take some seconds.
COUNT_EVERY_S: Final = 300.0
#: Seconds between two counts at least, whatever changes.
_COUNT_PAUSE_S: Final = 10.0
#: The share of a core that counting may use: reviews come first.
_SHARE: Final = 0.2


class PolicyStatusWriter(LeaderComponent):
    """Writes while this process leads, from ``start`` to ``stop``."""

    def __init__(
        self,
        api: ApiServer,
        resources: PolicyResources,
        workloads: Callable[[], ClusterWorkloads],
        *,
        context: Callable[[], AdmissionContext],
        elect: Elect,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is sent yet.

        Args:
            api: The cluster.
            resources: Its policies.
            workloads: Returns its workloads as they are now.
            context: Returns what reviews are decided by now.
            elect: Stands for election.
            clock: Seconds that never go back.
        """
        super().__init__("policy-status", elect=elect)
        self._api = api
        self._resources = resources
        self._workloads = workloads
        self._context = context
        self._clock = clock
        self._problems = ProblemLog()
        self._counted: dict[str, PolicyWorkloads] = {}
        self._counted_for: tuple[SpreadPolicy, ...] | None = None
        self._count_at = 0.0

    def _step(self) -> float:
        """Reconcile while this process leads; return the seconds until the next look."""
        if self.leading:
            self.reconcile()
        return _LOOK_EVERY_S

    def reconcile(self) -> None:
        """Write every status that is not as it should be, then count workloads if that is due."""
        try:
            self._write_all()
            if self._resources.listed() and self._count():
                self._write_all()
        except ClusterError as error:
            self._problems.report("policy_status_failed", str(error))
        except Exception as error:  # noqa: BLE001  # nothing would start this thread again
            reason = f"{type(error).__name__}: {error}"
            self._problems.report("policy_status_failed", reason, trace=error)
        else:
            self._problems.report("policy_status_failed", "")

    def _write_all(self) -> None:
        for resource in self._resources.listed():
            if not self.leading:
                return
            counted, mode = self._counted.get(resource.name), self._context().defaults
            status = policy_status(resource, counted, now=datetime.now(UTC), mode=mode)
            if status != resource.status:
                self._write(resource, status)

    def _write(self, resource: PolicyResource, status: Mapping[str, Any]) -> None:
        patch = [
            # A version that is written is compared.
            {"op": "replace", "path": "/metadata/resourceVersion", "value": resource.version},
            # Whole: a merge would keep fields of a spec that are gone.
            {"op": "add", "path": "/status", "value": status},
        ]
        path = f"{SPREAD_POLICIES.path}/{resource.name}/status"
        try:
            self._api.call("PATCH", path, body=patch)
        except ApiError as error:
            # Another change is on its way here, or the policy is gone.
            if not error.conflict and not error.not_found:
                raise

    def _count(self) -> bool:
        """Count what policies do to workloads if that is due; return whether it was."""
        context = self._context()
        if context.withheld:
            return False
        policies = context.policies
        now = self._clock()
        changed = policies != self._counted_for
        if now < self._count_at and not (changed and now >= self._count_at - COUNT_EVERY_S + _COUNT_PAUSE_S):
            return False
        effects = self._effects(policies)
        if effects is None:
            return False
        # Of those of the cluster alone: a policy of a file may have the same name.
        own = set(map(id, policies_of(self._resources.listed())))
        self._counted = {
            policy.name: {"selected": effect.selected, "denied": effect.denied}
            for policy, effect in zip(policies, effects, strict=True)
            if id(policy) in own
        }
        self._counted_for, self._count_at = policies, self._clock() + COUNT_EVERY_S
        return True

    def _effects(self, policies: tuple[SpreadPolicy, ...]) -> list[PolicyEffect] | None:
        """Return the effect of each policy; None once this process is no longer the leader."""
        found = PolicyEffects(policies, today=datetime.now(UTC).date())
        throttle = Throttle(_SHARE, self.pause)
        for entry in self._workloads().each():
            if not self.leading:
                return None
            if entry is not None:
                found.add(entry.workload.obj, self._context())
            throttle.rest()
        return found.effects()
