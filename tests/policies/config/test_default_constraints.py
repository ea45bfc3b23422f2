"""Default constraints for workloads that have none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import JsonPatch

from policies.admission.injection import injection_patch
from policies.config.context import AdmissionContext
from policies.config.default_constraints import Injection, Skip, plan_injection
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.model.workload_kinds import KNOWN_KINDS
from policies.scheduler.configuration import load_scheduler_config
from tests.builders import APP, a_constraint, a_pod, a_policy, a_workload, kind_of
from tests.examples import examples
from tests.policies.config.contexts import HOST, ZONE, a_context, defaults

REPLICA_SET = ("apps/v1", "ReplicaSet", "web-5dcb984f75")
HASHED = {"app": "web", "pod-template-hash": "5dcb984f75"}


def service(selector: Any = APP, namespace: str = "shop") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": selector},
    }


def replica_set(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": REPLICA_SET[2], "namespace": "shop", **metadata},
        "spec": {"selector": {"matchLabels": HASHED}},
    }


def plan(obj: dict[str, Any], context: AdmissionContext) -> Injection | Skip | None:
    group = obj["apiVersion"].rpartition("/")[0]
    subject = Workload.read(obj, kind_of(obj["kind"], group), "shop")
    return plan_injection(subject, context.policies_for(subject), context)


def injected(obj: dict[str, Any], context: AdmissionContext) -> list[dict[str, Any]]:
    found = plan(obj, context)
    assert isinstance(found, Injection), found
    return found.entries()


def test_pods_get_the_deduced_selector() -> None:
    """A pod's constraints count the pods of its Services and of its ReplicaSet, so of its revision."""
    context = a_context(a_policy(defaults=defaults()), cluster=[service(), replica_set()])
    selector = {"labelSelector": {"matchLabels": HASHED}}

    assert [ZONE | selector, HOST | selector] == injected(a_pod(labels=HASHED, owner=REPLICA_SET), context)


@pytest.mark.parametrize(
    ("kind", "group", "keys"),
    [
        ("Deployment", "apps", ["pod-template-hash"]),
        ("Rollout", "argoproj.io", ["rollouts-pod-template-hash"]),
        ("StatefulSet", "apps", None),
        ("ReplicaSet", "apps", None),
        ("ReplicationController", "", None),
        ("CloneSet", "apps.kruise.io", None),
    ],
)
def test_workloads_get_their_own_selector(kind: str, group: str, keys: list[str] | None) -> None:
    """A workload's constraints count its own pods, and those of a Deployment each revision for itself."""
    context = a_context(a_policy(defaults=defaults("workloads", [ZONE])))
    expected = ZONE | {"labelSelector": {"matchLabels": APP}} | ({"matchLabelKeys": keys} if keys else {})

    assert [expected] == injected(a_workload(kind, group), context)


@pytest.mark.parametrize(("version", "keys"), [("1.26", None), ("1.27", ["pod-template-hash"])])
def test_old_clusters_get_no_match_label_keys(version: str, keys: list[str] | None) -> None:
    """matchLabelKeys is written only where the cluster knows it: since 1.27."""
    context = a_context(
        a_policy(defaults=defaults("workloads")), kubernetes_version=KubernetesVersion.parse(version)
    )

    assert [keys, keys] == [
        constraint.get("matchLabelKeys") for constraint in injected(a_workload(), context)
    ]


def test_the_revision_label_is_not_asked_for_twice() -> None:
    """A selector that names the revision label already gets no match label key, which would conflict."""
    selector = {"matchExpressions": [{"key": key, "operator": "Exists"} for key in HASHED]}
    deployment = a_workload(labels=HASHED, selector=selector)
    context = a_context(a_policy(defaults=defaults("workloads", [ZONE])))

    assert [ZONE | {"labelSelector": selector}] == injected(deployment, context)


@pytest.mark.parametrize(
    ("at", "pod_gets", "workload_gets"),
    [("pods", True, False), ("workloads", False, True), ("both", True, True)],
)
def test_the_level_is_the_policy_s(at: str, pod_gets: bool, workload_gets: bool) -> None:  # noqa: FBT001
    """``at`` says whether pods, workloads or both are given defaults."""
    context = a_context(a_policy(defaults=defaults(at)), cluster=[service()])

    assert pod_gets == isinstance(plan(a_pod(), context), Injection)
    assert workload_gets == isinstance(plan(a_workload(), context), Injection)


OPT_OUT = {"evenkeel.dev/inject": "false"}


def namespace(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", **metadata}}


@pytest.mark.parametrize(
    ("obj", "cluster", "reason"),
    [
        pytest.param(
            a_pod(spec={"topologySpreadConstraints": [a_constraint()]}),
            [],
            Skip.HAS_CONSTRAINTS,
            id="has some",
        ),
        pytest.param(a_pod(spec={"topologySpreadConstraints": []}), [], Skip.EMPTY_LIST, id="explicit []"),
        pytest.param(a_pod(annotations=OPT_OUT), [service()], Skip.OPTED_OUT, id="pod annotation"),
        pytest.param(a_workload(annotations=OPT_OUT), [], Skip.OPTED_OUT, id="workload annotation"),
        pytest.param(a_workload(template_annotations=OPT_OUT), [], Skip.OPTED_OUT, id="template annotation"),
        pytest.param(
            a_pod(), [service(), namespace(annotations=OPT_OUT)], Skip.OPTED_OUT, id="namespace annotation"
        ),
        pytest.param(
            a_pod(owner=REPLICA_SET),
            [service(), replica_set(annotations=OPT_OUT)],
            Skip.OPTED_OUT,
            id="owner's",
        ),
        pytest.param(a_pod(), None, Skip.NO_CLUSTER, id="no cluster"),
        pytest.param(a_pod(), [], Skip.NO_DEDUCED_SELECTOR, id="bare pod without a service"),
        pytest.param(
            a_pod(), [service(namespace="other")], Skip.NO_DEDUCED_SELECTOR, id="service of another namespace"
        ),
        pytest.param(
            a_pod(annotations={"kubernetes.io/config.mirror": "x"}),
            [service()],
            Skip.MIRROR_POD,
            id="mirror pod",
        ),
        pytest.param(
            a_pod(owner=("apps/v1", "DaemonSet", "d")), [service()], Skip.NOT_SPREAD, id="DaemonSet's pod"
        ),
        pytest.param(a_pod(owner=("batch/v1", "Job", "j")), [service()], Skip.NOT_SPREAD, id="Job's pod"),
        pytest.param(a_workload("DaemonSet"), [], Skip.NOT_SPREAD, id="DaemonSet"),
        pytest.param(a_workload("Job", "batch"), [], Skip.NOT_SPREAD, id="Job"),
        pytest.param(a_workload("CronJob", "batch"), [], Skip.NOT_SPREAD, id="CronJob"),
        pytest.param(a_workload("PodTemplate", ""), [], Skip.NOT_SPREAD, id="PodTemplate"),
        pytest.param(
            a_workload("Service", "serving.knative.dev"), [], Skip.NO_OWN_SELECTOR, id="Knative Service"
        ),
        pytest.param(
            a_workload(
                "ReplicaSet",
                ownerReferences=[
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
                ],
            ),
            [],
            Skip.OWNED,
            id="a Deployment's ReplicaSet: its template is the Deployment's",
        ),
        pytest.param(
            a_workload(selector={"matchLabels": {"app": "api"}}),
            [],
            Skip.NO_OWN_SELECTOR,
            id="selects others",
        ),
        pytest.param(a_workload(selector={}), [], Skip.NO_OWN_SELECTOR, id="selects all"),
        *(
            pytest.param(
                a_workload(*kind, selector={"matchLabels": {label: "x"}}, labels={label: "x"}),
                [],
                Skip.GENERATED_LABEL,
                id=f"selects by {label}",
            )
            for kind, label in (
                (("Deployment", "apps"), "pod-template-hash"),
                (("Rollout", "argoproj.io"), "rollouts-pod-template-hash"),
                (("StatefulSet", "apps"), "controller-revision-hash"),
                (("StatefulSet", "apps.kruise.io"), "apps.kubernetes.io/pod-index"),
            )
        ),
        pytest.param(a_pod(labels={"app": 1}), [service()], Skip.INVALID, id="invalid labels"),
        pytest.param(a_workload() | {"metadata": None}, [], Skip.INVALID, id="no metadata to patch"),
        pytest.param(
            a_workload() | {"spec": {"selector": {"matchLabels": APP}}},
            [],
            Skip.NO_POD_SPEC,
            id="no template",
        ),
    ],
)
def test_reasons_to_leave_an_object_alone(
    obj: dict[str, Any], cluster: list[dict[str, Any]] | None, reason: Skip
) -> None:
    """Objects that must not or cannot get defaults are left alone, and the reason is told."""
    assert reason is plan(obj, a_context(a_policy(defaults=defaults("both")), cluster=cluster))


def test_null_constraints_are_none() -> None:
    """A null list is no opt-out: the API server cannot tell it from an absent one."""
    pod = a_pod(spec={"topologySpreadConstraints": None})

    assert isinstance(plan(pod, a_context(a_policy(defaults=defaults()), cluster=[service()])), Injection)


def test_no_defaults_no_reason() -> None:
    """Where no policy in scope has defaults for the level, there is nothing to tell."""
    assert plan(a_pod(), a_context(a_policy())) is None
    assert plan(a_pod(), a_context(a_policy(defaults=defaults("workloads")))) is None
    assert plan(a_pod(), a_context(a_policy(scope={"namespaces": ["other"]}, defaults=defaults()))) is None


def test_the_first_policy_with_defaults_gives_them() -> None:
    """Of several policies in scope the first with defaults for the level counts."""
    context = a_context(
        a_policy("checks"),
        a_policy("first", defaults=defaults(constraints=[ZONE])),
        a_policy("second", defaults=defaults(constraints=[HOST])),
        cluster=[service()],
    )
    found = plan(a_pod(), context)

    assert isinstance(found, Injection)
    assert ("first", ["topology.kubernetes.io/zone"]) == (
        found.policy,
        [constraint.topology_key for constraint in found.constraints],
    )


@pytest.mark.parametrize(
    ("kinds", "owner", "labels", "gets"),
    [
        pytest.param(["Deployment"], REPLICA_SET, HASHED, True, id="pod of a Deployment"),
        pytest.param(["Deployment"], REPLICA_SET, APP, False, id="pod of a bare ReplicaSet"),
        pytest.param(["ReplicaSet"], REPLICA_SET, APP, True, id="pod of a bare ReplicaSet, by its name"),
        pytest.param(["Pod"], REPLICA_SET, HASHED, True, id="any pod"),
        pytest.param(["StatefulSet"], None, APP, False, id="bare pod"),
    ],
)
def test_kinds_reach_through_owners(
    kinds: list[str],
    owner: tuple[str, str, str] | None,
    labels: dict[str, str],
    gets: bool,  # noqa: FBT001
) -> None:
    """A pod belongs to the kinds of its owners, so a scope of Deployments holds their pods."""
    context = a_context(a_policy(scope={"kinds": kinds}, defaults=defaults()), cluster=[service()])

    assert gets == isinstance(plan(a_pod(labels=labels, owner=owner), context), Injection)


SCHEDULER = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 4, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
- schedulerName: plain
"""


@pytest.mark.parametrize(
    ("scheduler_name", "keys"),
    [
        ("default-scheduler", ["rack"]),
        ("plain", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]),
        ("unknown", None),
    ],
)
def test_defaults_of_the_scheduler(scheduler_name: str, keys: list[str] | None) -> None:
    """With source scheduler a pod gets the defaults of the profile that will schedule it."""
    context = a_context(
        a_policy(defaults={"source": "scheduler"}),
        cluster=[service()],
        scheduler=load_scheduler_config(SCHEDULER, "scheduler.yaml"),
    )
    pod = a_pod(spec={"schedulerName": scheduler_name})

    if keys is None:
        assert plan(pod, context) is Skip.NO_DEFAULTS
    else:
        assert keys == [constraint["topologyKey"] for constraint in injected(pod, context)]


@pytest.mark.parametrize("annotations", [None, {}, {"a/b~c": "d"}], ids=["absent", "empty", "some"])
def test_patches_apply_and_mark(annotations: dict[str, str] | None) -> None:
    """The patch adds the list and one annotation, whether or not there were annotations, and nothing else."""
    deployment = a_workload(annotations=annotations)
    context = a_context(a_policy(defaults=defaults("workloads")))
    subject = Workload.read(deployment, kind_of("Deployment", "apps"), "shop")
    found = plan_injection(subject, context.policies_for(subject), context)
    assert isinstance(found, Injection)
    expected = copy.deepcopy(deployment)
    expected["spec"]["template"]["spec"]["topologySpreadConstraints"] = found.entries()
    expected["metadata"]["annotations"] = (annotations or {}) | {INJECTED_ANNOTATION: "production"}
    operations = injection_patch(found, subject.kind.constraints_path, annotated=bool(subject.annotations))

    assert 2 == len(operations)
    assert expected == JsonPatch(operations).apply(deployment)


label_maps = st.dictionaries(
    st.sampled_from(["app", "tier", "pod-template-hash"]), st.sampled_from("ab"), max_size=3
)


@examples(200)
@given(
    kind=st.sampled_from(KNOWN_KINDS),
    labels=label_maps,
    services=st.lists(label_maps, max_size=3),
    annotations=st.none() | label_maps,
)
def test_a_second_pass_changes_nothing_and_the_result_is_valid(
    kind: Any, labels: dict[str, str], services: list[dict[str, str]], annotations: dict[str, str] | None
) -> None:
    """Every injection is valid for the API server, and the patched object needs nothing more."""
    context = a_context(a_policy(defaults=defaults("both")), cluster=[service(entry) for entry in services])
    fields: dict[str, Any] = {} if annotations is None else {"annotations": annotations}
    obj = (
        a_pod(labels=labels, **fields)
        if kind.is_pod
        else a_workload(kind.kind, kind.group, labels=labels or None, **fields)
    )
    subject = Workload.read(obj, kind, "shop")
    found = plan_injection(subject, context.policies_for(subject), context)
    if not isinstance(found, Injection):
        return
    after = Workload.read(
        JsonPatch(
            injection_patch(found, subject.kind.constraints_path, annotated=bool(subject.annotations))
        ).apply(obj),
        kind,
        "shop",
    )

    assert () == after.errors
    assert plan_injection(after, context.policies_for(after), context) is Skip.HAS_CONSTRAINTS


def test_a_picture_that_cannot_be_used_injects_into_no_pod() -> None:
    """A cluster whose cache is too old is another reason than no cluster."""
    context = a_context(a_policy(defaults=defaults()), cluster=[service()])

    assert Skip.WITHHELD is plan(a_pod(), context.without_cluster("it is 200 s old"))
