"""Which default constraints a server injects: none, those of policies, or soft ones for the rest too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.admission.injection import decide_mutation
from policies.admission.validation import decide_validation
from policies.config.context import STRANGER, AdmissionContext
from policies.config.default_constraints import Injection, Skip, plan_injection
from policies.config.spread_policy import DefaultsMode
from policies.model.version import KubernetesVersion
from tests.builders import a_constraint, a_pod, a_policy, a_replica_set, a_workload
from tests.policies.config.contexts import HOST, a_context, defaults, read

OFF, SOFT, POLICY = DefaultsMode
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}
OPTED_OUT = NAMESPACE | {"metadata": {"name": "shop", "annotations": {"evenkeel.dev/inject": "false"}}}
REPLICA_SET = a_replica_set(a_workload(), "5dcb")
POD = a_pod(labels={"app": "web", "pod-template-hash": "5dcb"}, owner=("apps/v1", "ReplicaSet", "web-5dcb"))
AT_PODS = a_policy("mine", defaults=defaults(constraints=[HOST]))
AT_WORKLOADS = a_policy("mine", defaults=defaults("workloads"))
#: Selects the namespace by a label, which only a cluster knows.
BY_LABEL = a_policy(
    "mine", defaults=defaults("both"), scope={"namespaceSelector": {"matchLabels": {"team": "a"}}}
)
STALE = "the cluster cache is 200 s old"


def in_mode(
    mode: DefaultsMode, *policies: dict[str, Any], cluster: Any = (NAMESPACE, REPLICA_SET)
) -> AdmissionContext:
    return replace(a_context(*policies, cluster=cluster, live=True), defaults=mode)


@pytest.mark.parametrize(
    ("mode", "policy", "obj", "expected"),
    [
        pytest.param(OFF, AT_PODS, POD, None, id="off, whatever policies say"),
        pytest.param(OFF, AT_WORKLOADS, a_workload(), None, id="off, at workloads"),
        pytest.param(POLICY, AT_PODS, POD, "mine", id="policy"),
        pytest.param(POLICY, a_policy(), POD, None, id="policy, and no policy has any"),
        pytest.param(SOFT, AT_PODS, POD, "mine", id="soft, and a policy has others"),
        pytest.param(SOFT, a_policy(), POD, "soft-spread", id="soft, and no policy has any"),
        pytest.param(SOFT, a_policy(scope={"namespaces": ["x"]}), POD, "soft-spread", id="soft, no policy"),
        pytest.param(
            SOFT,
            a_policy("mine", scope={"namespaces": ["x"]}, defaults=defaults()),
            POD,
            "soft-spread",
            id="soft, and a policy has some for others",
        ),
        pytest.param(SOFT, AT_WORKLOADS, POD, "soft-spread", id="soft, and a policy has some for workloads"),
        pytest.param(SOFT, AT_WORKLOADS, a_workload(), "mine", id="soft, a workload with a policy"),
        pytest.param(SOFT, a_policy(), a_workload(), None, id="soft leaves templates as they are applied"),
    ],
)
def test_who_gives(
    mode: DefaultsMode, policy: dict[str, Any], obj: dict[str, Any], expected: str | None
) -> None:
    """The mode decides; a policy's defaults come before the soft ones."""
    context = in_mode(mode, policy)
    workload = read(obj, context)
    plan = plan_injection(workload, context.policies_for(workload), context)

    assert expected == (plan.policy if isinstance(plan, Injection) else None)
    assert expected is not None or plan is None


@pytest.mark.parametrize("version", ["1.24", "1.36"])
def test_soft_defaults_count_a_revision(version: str) -> None:
    """The selector of the ReplicaSet narrows them, in releases without matchLabelKeys too."""
    context = replace(in_mode(SOFT), kubernetes_version=KubernetesVersion.parse(version))
    workload = read(POD, context)
    plan = plan_injection(workload, context.policies_for(workload), context)

    assert isinstance(plan, Injection)
    assert [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web", "pod-template-hash": "5dcb"}},
            **taints,
        }
        for key, taints in (
            ("topology.kubernetes.io/zone", {"nodeTaintsPolicy": "Honor"}),
            ("kubernetes.io/hostname", {}),
        )
    ] == plan.entries()


@pytest.mark.parametrize(
    ("obj", "cluster"),
    [
        pytest.param(POD, [OPTED_OUT, REPLICA_SET], id="its namespace opts out"),
        pytest.param(
            a_pod(owner=("apps/v1", "DaemonSet", "log")), [NAMESPACE], id="of a kind that is not spread"
        ),
        pytest.param(
            POD | {"spec": POD["spec"] | {"topologySpreadConstraints": [a_constraint()]}},
            [NAMESPACE, REPLICA_SET],
            id="it has constraints",
        ),
    ],
)
def test_soft_defaults_are_left_out(obj: dict[str, Any], cluster: list[Any]) -> None:
    """What keeps the defaults of policies away keeps these away."""
    assert () == decide_mutation(read(obj), in_mode(SOFT, cluster=cluster)).patch


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease"])
def test_soft_defaults_leave_the_system_alone(namespace: str) -> None:
    """The scope of the built-in policy holds."""
    context = in_mode(SOFT)
    workload = replace(read(POD, context), namespace=namespace)

    assert plan_injection(workload, context.policies_for(workload), context) is None


@pytest.mark.parametrize("enforcement", ["deny", "warn", "audit"])
@pytest.mark.parametrize("namespaces", [["shop"], ["x"]], ids=["selected", "not selected"])
def test_enforcement_is_that_of_policies(enforcement: str, namespaces: list[str]) -> None:
    """The built-in policy has its own enforcement; none of it is in force with the soft defaults."""
    policy = a_policy(scope={"namespaces": namespaces}, enforcement=enforcement)
    obj = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    decisions = [decide_validation(read(obj), None, in_mode(mode, policy)) for mode in DefaultsMode]

    assert decisions[0] == decisions[1] == decisions[2]


@pytest.mark.parametrize(
    ("mode", "policy", "obj", "stranger", "why"),
    [
        pytest.param(SOFT, a_policy(), POD, False, STALE, id="soft, an old cache"),
        pytest.param(SOFT, a_policy(), POD, True, STRANGER, id="soft, a stranger"),
        pytest.param(POLICY, AT_PODS, POD, False, STALE, id="policy, an old cache"),
        pytest.param(POLICY, AT_PODS, POD, True, STRANGER, id="policy, a stranger"),
        pytest.param(POLICY, BY_LABEL, POD, False, STALE, id="labels of the namespace are not known"),
        pytest.param(POLICY, BY_LABEL, a_workload(), False, STALE, id="nor for a Deployment"),
        pytest.param(POLICY, BY_LABEL, POD, True, STRANGER, id="a stranger, whose namespace is known"),
        pytest.param(OFF, AT_PODS, POD, False, "", id="off"),
        pytest.param(
            POLICY, a_policy("mine", scope={"namespaces": ["x"]}, defaults=defaults()), POD, False, "",
            id="a policy for others",
        ),
        pytest.param(
            POLICY,
            BY_LABEL,
            POD | {"spec": POD["spec"] | {"topologySpreadConstraints": [a_constraint()]}},
            False,
            "",
            id="it has constraints",
        ),
    ],
)  # fmt: skip
def test_a_missing_cache_is_said(
    *, mode: DefaultsMode, policy: dict[str, Any], obj: dict[str, Any], stranger: bool, why: str
) -> None:
    """What would be injected and is not for lack of the cache has the reason in its audit annotation."""
    context = in_mode(mode, policy)
    context = context.for_stranger() if stranger else context.without_cluster(STALE)
    decision = decide_mutation(read(obj, context), context)

    assert () == decision.patch
    assert ({"injection-skipped": f"{Skip.WITHHELD}: {why}"} if why else {}) == decision.audit


def test_a_stranger_gets_what_needs_no_cluster() -> None:
    """A Deployment has its own selector."""
    context = in_mode(POLICY, BY_LABEL).for_stranger()

    assert decide_mutation(read(a_workload(), context), context).patch
