"""The context of the server's decisions, from its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.config.context import AdmissionContext
from policies.manifests.errors import DocumentError, UsageError
from policies.model.version import KubernetesVersion
from tests.builders import a_policy
from tests.policies.config.contexts import ZONE
from webhook.admission.context import build_context
from webhook.settings import Settings

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def build(**settings: Any) -> AdmissionContext:
    return build_context(Settings(self_signed=True, **settings), warn=pytest.fail)


def write(path: Path, *documents: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_without_options_the_built_in_policy_is_in_force() -> None:
    """No policy means the built-in default, no cluster, and the newest known release."""
    context = build()

    assert ["default"] == [policy.name for policy in context.policies]
    assert (None, None, KubernetesVersion(1, 36)) == (
        context.snapshot,
        context.scheduler,
        context.kubernetes_version,
    )


def test_everything_is_gathered(tmp_path: Path) -> None:
    """Policies of several files, the scheduler's configuration, the cluster, the release and more kinds."""
    context = build(
        policy=(write(tmp_path / "a.yaml", a_policy("a"), a_policy("b")), "builtin:audit"),
        scheduler_config=write(tmp_path / "scheduler.yaml", CONFIG),
        cluster=write(
            tmp_path / "cluster.yaml", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
        ),
        kubernetes_version="v1.30.1",
        workload_kind=("acme.io/Widget=spec.template",),
    )

    assert ["a", "b", "audit"] == [policy.name for policy in context.policies]
    assert context.scheduler is not None
    assert context.snapshot is not None
    assert list(context.snapshot.namespaces) == ["x"]
    assert KubernetesVersion(1, 30) == context.kubernetes_version
    assert context.kinds.get(("acme.io", "Widget")) is not None


def test_scheduler_defaults_need_its_configuration(tmp_path: Path) -> None:
    """A policy that takes defaults from the scheduler does not start without its configuration."""
    policy = write(tmp_path / "policy.yaml", a_policy(defaults={"source": "scheduler"}))

    with pytest.raises(UsageError, match="give --scheduler-config"):
        build(policy=(policy,))


def test_broken_objects_of_the_cluster_are_told(tmp_path: Path) -> None:
    """An object left out of a snapshot is a warning, and not the end."""
    problems: list[str] = []
    cluster = write(tmp_path / "c.yaml", {"apiVersion": "v1", "kind": "Service", "spec": 1})
    build_context(Settings(self_signed=True, cluster=cluster), problems.append)

    assert 1 == len(problems)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"policy": ("nowhere.yaml",)}, OSError),
        ({"policy": ("builtin:nothing",)}, DocumentError),
        ({"cluster": "nowhere.json"}, OSError),
        ({"scheduler_config": "nowhere.yaml"}, OSError),
        ({"kubernetes_version": "new"}, UsageError),
        ({"workload_kind": ("Widget",)}, UsageError),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_stops_the_start(settings: dict[str, Any], error: type[Exception]) -> None:
    """A server never starts on half of what it was told."""
    with pytest.raises(error):
        build(**settings)


def test_a_policy_with_mistakes_tells_them_all(tmp_path: Path) -> None:
    """Every mistake of a policy is told with file and line."""
    policy = write(
        tmp_path / "p.yaml", a_policy(enforcement="hard", defaults={"constraints": [ZONE | {"maxSkew": 0}]})
    )

    with pytest.raises(DocumentError) as caught:
        build(policy=(policy,))
    assert 2 == len(caught.value.problems)
    assert all(problem.startswith(f"{policy}:") for problem in caught.value.problems)
