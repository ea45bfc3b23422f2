"""Workloads with a skew, as tests write them."""

from __future__ import annotations

from typing import Any

from planning.audit.audit import skew_problems
from planning.audit.workload_audit import ConstraintSkew, Risk, SpreadProblem, WorkloadAudit
from policies.model.constraint import Constraint
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin
from tests.builders import a_constraint


def a_skew(skew: int = 0, minimum: int = 0, **fields: Any) -> ConstraintSkew:
    """Return a constraint over three zones, of which the fullest has so many pods more than the emptiest."""
    constraint = Constraint.parse(a_constraint(**fields))
    applied = AppliedConstraint(
        constraint=constraint, origin=ConstraintOrigin.POD, selector=constraint.selector, self_match=1
    )
    most = minimum + skew
    return ConstraintSkew(applied=applied, domains=3, minimum=minimum, most=most, fullest="a", counts=True)


def a_workload_skew(
    *constraints: ConstraintSkew, name: str = "web", pending: int = 0, **fields: Any
) -> WorkloadAudit:
    """Return a Deployment of the namespace shop."""
    problems = skew_problems(constraints, (), placed=True)
    if pending:
        problems.append(SpreadProblem(Risk.PENDING))
    found = {
        "api_version": "apps/v1",
        "kind": "Deployment",
        "namespace": "shop",
        "name": name,
        "uid": f"uid-{name}",
        "message": "0/3 nodes are available." if pending else "",
    }
    return WorkloadAudit(
        **(found | fields),
        wanted=3,
        running=3,
        pending=pending,
        problems=tuple(problems),
        constraints=constraints,
    )
