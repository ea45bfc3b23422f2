"""The search for changes of a manifest that explanations, rollouts, losses and advice share.

Each proposes its own changes, those that give up least first. Here a change is made and evaluated, and the
number of evaluations is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.model.workload import Workload
from policies.placement.core.placement import PlacementError, read_workload

#: What is found out of an edited manifest.
_Outcome = TypeVar("_Outcome")


class EditSearch(Generic[_Outcome]):
    """Evaluates edits of one manifest, no more than so many.

    Attributes:
        tried: How many were evaluated.
        complete: Whether none was left out because there had been so many.
    """

    def __init__(
        self,
        workload: Workload,
        context: AdmissionContext,
        evaluate: Callable[[Workload], _Outcome],
        *,
        most: int,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Prepare a search.

        Args:
            workload: The manifest before any edit.
            context: What edited manifests are read by.
            evaluate: Evaluates an edited manifest; raises PlacementError if Kubernetes would refuse it.
            most: How many are evaluated at most.
            may_go_on: Whether another may be evaluated; called before each.
        """
        self._workload = workload
        self._context = context
        self._evaluate = evaluate
        self._most = most
        self._may_go_on = may_go_on
        self.tried = 0
        self.complete = True

    def attempt(self, edits: Iterable[Edit]) -> _Outcome | None:
        """Return the outcome of edits; None if Kubernetes refuses the manifest, or no more may be tried."""
        if self.tried >= self._most or not self._may_go_on():
            self.complete = False
            return None
        self.tried += 1
        try:
            edited = apply_edits(self._workload.obj, edits)
            return self._evaluate(read_workload(edited, self._context, namespace=self._workload.namespace))
        except PlacementError:
            return None
