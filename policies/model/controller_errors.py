"""What the API server refuses of a workload outside of its pod template."""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.fields import WRONG_TYPE, FieldError, FieldPath, required_value, wrong_type
from policies.model.validation import INT32_MAX
from policies.model.workload import Workload

#: What no workload does without.
SPEC = FieldPath(("spec",))


def controller_errors(workload: Workload) -> Iterator[FieldError]:
    """Yield the errors of a workload's number of replicas, and of a spec that is missing."""
    kind, replicas = workload.kind, workload.stated_replicas
    if replicas is not None and (type(replicas) is not int or not 0 <= replicas <= INT32_MAX):
        yield wrong_type(FieldPath(kind.replicas or ()), f"an integer from 0 to {INT32_MAX}", replicas)
    if kind.template[:1] == SPEC.segments and workload.obj.get("spec") in (None, {}):
        yield required_value(SPEC, f"must have the pod template of the {kind.kind}", WRONG_TYPE)
