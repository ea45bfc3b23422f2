"""Where each kind of workload keeps its pod template and its selector."""

from __future__ import annotations

import pytest

from policies.manifests.errors import UsageError
from policies.model.workload_kinds import WorkloadKind, WorkloadKinds, parse_workload_kind


def test_kinds_are_told_apart_by_group() -> None:
    """Two groups may have kinds of one name; versions do not matter."""
    kinds = WorkloadKinds()

    assert kinds.get(("apps", "StatefulSet")) != kinds.get(("apps.kruise.io", "StatefulSet"))
    assert kinds.get(("example.com", "Deployment")) is None


def test_a_setting_adds_a_kind() -> None:
    """A custom resource is known once a setting names where it keeps its template."""
    kinds = WorkloadKinds([parse_workload_kind("acme.io/Widget=spec.pod.template,spec.selector,spec.size")])

    assert kinds.get(("acme.io", "Widget")) == WorkloadKind(
        "acme.io", "Widget", ("spec", "pod", "template"), ("spec", "selector"), replicas=("spec", "size")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Widget=spec",
        "acme.io/Widget",
        "acme.io/Widget=",
        "acme.io/widget=spec",
        "a/B=x,,y",
        "a/B=x,y,z,w",
    ],
)
def test_settings_of_another_form_are_refused(text: str) -> None:
    """A setting that is not GROUP/KIND=PATHS is a usage error."""
    with pytest.raises(UsageError, match="GROUP/KIND=TEMPLATE"):
        parse_workload_kind(text)
