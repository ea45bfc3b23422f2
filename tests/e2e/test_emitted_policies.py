"""Emitted policies in a real API server, without the webhook."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from policies.config.loader import build
from policies.emit.emit import emit
from policies.emit.emitted import LABELS, Emitted, PolicyKind
from policies.model.version import KubernetesVersion
from tests.builders import a_policy
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubectl import Kubectl
from tests.e2e.objects import constraint, deployment
from tests.waiting import eventually

DEFAULTS = {
    "at": "workloads",
    "constraints": [{"maxSkew": 1, "topologyKey": "example.com/rack", "whenUnsatisfiable": "ScheduleAnyway"}],
}
#: A name of all the characters that the API allows.
LONGEST = "a" * 253
#: The API server accepts it, and since 1.34 rejects each of its pods.
TRAP = constraint(matchLabelKeys=["app"])


def _emitted(control_plane: ControlPlane, kind: PolicyKind, space: str, **spec: Any) -> Emitted:
    policy = build(a_policy(LONGEST, scope={"namespaces": [space]}, **spec))
    version = KubernetesVersion(*control_plane.version[:2])
    return emit([policy], kind, today=date(2026, 11, 22), version=version)


@pytest.fixture
def remove(kubectl: Kubectl) -> Iterator[None]:
    """Remove the emitted policies."""
    yield
    (label, value), *_ = LABELS.items()
    for kind in ("validatingadmissionpolicy", "mutatingadmissionpolicy"):
        kubectl("delete", f"{kind}bindings,{kind}", "-l", f"{label}={value}")


@pytest.mark.kubernetes(since="1.30")
@pytest.mark.usefixtures("remove")
def test_validation(control_plane: ControlPlane, kubectl: Kubectl, space: str) -> None:
    """The merge trap is denied at the Deployment, in the words of the rule; a good one passes."""
    for entry in _emitted(control_plane, PolicyKind.VALIDATING, space).objects:
        kubectl.do("apply", "-f", "-", stdin=entry)
    refused = eventually(
        lambda: (
            told.err
            if (
                told := kubectl("create", "--dry-run=server", "-f", "-", stdin=deployment(constraints=[TRAP]))
            ).code
            else None
        )
    )

    assert "match-label-key-in-selector: spec.template.spec.topologySpreadConstraints[0]" in refused
    assert 0 == kubectl("create", "--dry-run=server", "-f", "-", stdin=deployment()).code


@pytest.mark.kubernetes(since="1.36")
@pytest.mark.usefixtures("remove")
def test_injection(control_plane: ControlPlane, kubectl: Kubectl, space: str) -> None:
    """A Deployment without constraints gets those of the policy, also where a webhook would inject others."""
    for entry in _emitted(control_plane, PolicyKind.MUTATING, space, defaults=DEFAULTS).objects:
        kubectl.do("apply", "-f", "-", stdin=entry)
    found: list[str] = []

    def injected() -> bool:
        kubectl("delete", "deployment", "web", "--ignore-not-found")
        kubectl.do("create", "-f", "-", stdin=deployment())
        spec = kubectl.get("deployment", "web")["spec"]["template"]["spec"]
        found[:] = [entry["topologyKey"] for entry in spec.get("topologySpreadConstraints", ())]
        return found == ["example.com/rack"]

    eventually(injected, what=lambda: f"constraints over {found}")
