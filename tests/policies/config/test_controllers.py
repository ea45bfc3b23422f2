"""Which owners are believed, by who sends the object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict
from policies.admission.validation import UNPROVED, decide_validation
from policies.config.controllers import BUILT_IN_CONTROLLERS, parse_trusted_controllers
from policies.config.default_constraints import Injection, Skip, plan_injection
from policies.manifests.errors import UsageError
from policies.model.workload import Workload
from tests.builders import a_constraint, a_pod, a_policy, a_workload, kind_of
from tests.policies.config.contexts import a_context, defaults

REPLICA_SET = ("apps/v1", "ReplicaSet", "web-1")
CLONE_SET = ("apps.kruise.io/v1alpha1", "CloneSet", "web")
CONFIG_MAP = ("v1", "ConfigMap", "mine")
ROLLOUT = ("argoproj.io/v1alpha1", "Rollout", "web")
DATABASE = ("acme.io/v1", "Database", "orders")
NODE = ("v1", "Node", "n1")
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
OPERATOR = "system:serviceaccount:kruise-system:kruise-manager"
DEPLOYER = "system:serviceaccount:ci:deployer"


def read(obj: dict[str, Any], user: str | None) -> Workload:
    group = obj["apiVersion"].rpartition("/")[0]
    return Workload.read(obj, kind_of(obj["kind"], group), "shop", user=user)


def owned(owner: tuple[str, str, str], kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    reference = {**dict(zip(("apiVersion", "kind", "name"), owner, strict=True)), "controller": True}
    return a_workload(kind, spec=spec, ownerReferences=[reference])


@pytest.mark.parametrize(
    ("owner", "user", "believed"),
    [
        *(pytest.param(REPLICA_SET, user, True, id=user) for user in BUILT_IN_CONTROLLERS),
        pytest.param(REPLICA_SET, "jane", False, id="a person names a ReplicaSet"),
        pytest.param(REPLICA_SET, "", False, id="nobody knows who names a ReplicaSet"),
        pytest.param(
            REPLICA_SET, "system:serviceaccount:shop:replicaset-controller", False, id="another namespace"
        ),
        pytest.param(CLONE_SET, OPERATOR, True, id="an operator names its known kind"),
        pytest.param(CLONE_SET, "jane", False, id="a person names a known kind"),
        pytest.param(CLONE_SET, DEPLOYER, False, id="any service account names a known kind"),
        pytest.param(ROLLOUT, DEPLOYER, False, id="any service account names a Rollout"),
        pytest.param(
            CLONE_SET, "system:serviceaccount:shop:kruise-manager", False, id="an operator's name elsewhere"
        ),
        pytest.param(CLONE_SET, "", False, id="nobody knows who names a known kind"),
        pytest.param(REPLICA_SET, OPERATOR, False, id="an operator names a kind of Kubernetes"),
        pytest.param(DATABASE, OPERATOR, False, id="an operator names a kind without a template"),
        pytest.param(CONFIG_MAP, "jane", False, id="a person names a ConfigMap"),
        pytest.param(CONFIG_MAP, OPERATOR, False, id="a service account names a ConfigMap"),
        pytest.param(NODE, "system:node:n1", True, id="a kubelet mirrors a static pod"),
        pytest.param(NODE, "jane", False, id="a person names a node"),
        pytest.param(REPLICA_SET, "system:node:n1", False, id="a kubelet names a ReplicaSet"),
        pytest.param(REPLICA_SET, None, True, id="a file names a ReplicaSet"),
        pytest.param(CONFIG_MAP, None, False, id="a file names a ConfigMap"),
        pytest.param(("v1", "Pod", "a"), None, False, id="a file names a pod"),
    ],
)
def test_who_is_believed(owner: tuple[str, str, str], user: str | None, *, believed: bool) -> None:
    """An owner reference proves nothing: whoever sends it does."""
    assert believed == a_context().made_by_controller(read(a_pod(owner=owner), user))


@pytest.mark.parametrize(
    ("users", "trusted"),
    [
        pytest.param([OPERATOR, DEPLOYER], {OPERATOR, DEPLOYER}, id="two"),
        pytest.param([""], set(), id="nobody"),
        pytest.param([], set(), id="none"),
    ],
)
def test_who_is_trusted(users: list[str], trusted: set[str]) -> None:
    """An empty text is nobody: not every request says who sends it."""
    assert trusted == parse_trusted_controllers(users)


@pytest.mark.parametrize(
    "user", ["argo-rollouts:argo-rollouts", "system:serviceaccount:argo", "system:masters", "*", " "]
)
def test_a_name_that_nobody_has(user: str) -> None:
    """It would trust nobody, and nothing would say so."""
    with pytest.raises(UsageError):
        parse_trusted_controllers([user, OPERATOR])


def test_a_trusted_controller_is_one_that_is_named() -> None:
    """The list takes the place of the default."""
    context = replace(a_context(), trusted_controllers=frozenset({DEPLOYER}))
    pod = a_pod(owner=CLONE_SET)

    assert context.made_by_controller(read(pod, DEPLOYER))
    assert not context.made_by_controller(read(pod, OPERATOR))


@pytest.mark.parametrize(
    ("user", "kinds"),
    [
        pytest.param(OPERATOR, {"Pod", "CloneSet"}, id="the operator"),
        pytest.param(DEPLOYER, {"Pod"}, id="any service account"),
        pytest.param("jane", {"Pod"}, id="a person"),
        pytest.param(None, {"Pod", "CloneSet"}, id="a file"),
    ],
)
def test_kinds_that_policies_select_by(user: str | None, kinds: set[str]) -> None:
    """An owner that is not believed brings no policy of its kind."""
    assert kinds == a_context().kinds_of(read(a_pod(owner=CLONE_SET), user))


@pytest.mark.parametrize(
    ("user", "verdict"),
    [
        pytest.param("jane", AdmissionVerdict.DENIED, id="a person"),
        pytest.param(DEPLOYER, AdmissionVerdict.DENIED, id="any service account"),
    ],
)
def test_an_owner_brings_no_settings(user: str, verdict: AdmissionVerdict) -> None:
    """The first policy with settings for a rule counts: one for another kind is not chosen by an owner."""
    lax = a_policy("a-jobs", scope={"kinds": ["Job"]}, rules={"selector-missing": {"enforcement": "audit"}})
    context = a_context(lax, a_policy("strict", enforcement="deny"))
    obj = owned(("batch/v1", "Job", "a"), topologySpreadConstraints=[a_constraint(labelSelector=None)])

    assert verdict is decide_validation(read(obj, user), None, context).verdict


@pytest.mark.parametrize(
    ("obj", "user", "verdict"),
    [
        pytest.param(
            owned(CONFIG_MAP, topologySpreadConstraints=[a_constraint(labelSelector=None)]),
            "jane",
            AdmissionVerdict.DENIED,
            id="a Deployment of a ConfigMap",
        ),
        pytest.param(
            owned(DATABASE, "StatefulSet", topologySpreadConstraints=[a_constraint(labelSelector=None)]),
            OPERATOR,
            AdmissionVerdict.DENIED,
            id="a StatefulSet of a custom resource",
        ),
        pytest.param(
            a_pod(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]}, owner=REPLICA_SET),
            "jane",
            AdmissionVerdict.DENIED,
            id="a person's pod of a ReplicaSet",
        ),
        pytest.param(
            a_pod(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]}, owner=REPLICA_SET),
            CONTROLLER,
            AdmissionVerdict.ALLOWED,
            id="a controller's pod of a ReplicaSet",
        ),
    ],
)
def test_no_rule_is_dodged_by_an_owner(obj: dict[str, Any], user: str, verdict: AdmissionVerdict) -> None:
    """A person's object is denied, whatever owner it names, and the answer says why that does not help."""
    decision = decide_validation(read(obj, user), None, a_context())

    assert verdict is decision.verdict
    assert (verdict is AdmissionVerdict.DENIED) == (UNPROVED in decision.audit) == bool(decision.notes)


@pytest.mark.parametrize("owner", [CLONE_SET, REPLICA_SET, CONFIG_MAP])
def test_what_is_not_believed_is_in_the_audit_log(owner: tuple[str, str, str]) -> None:
    """Also of an object in order, which gets no warning for it."""
    decision = decide_validation(read(a_pod(owner=owner), f"{DEPLOYER}\n"), None, a_context())

    assert AdmissionVerdict.ALLOWED is decision.verdict
    assert [UNPROVED] == list(decision.audit)
    assert decision.audit[UNPROVED].isprintable()
    assert () == decision.warnings


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(owned(CONFIG_MAP), Injection, id="a Deployment of a ConfigMap"),
        pytest.param(owned(("apps/v1", "Deployment", "a")), Injection, id="a Deployment of a Deployment"),
        pytest.param(
            owned(("networking.k8s.io/v1", "Ingress", "a")), Injection, id="a Deployment of an Ingress"
        ),
        pytest.param(owned(("apps/v1", "Deployment", "web"), "ReplicaSet"), Skip, id="a ReplicaSet"),
        pytest.param(owned(DATABASE, "StatefulSet"), Skip, id="a StatefulSet of a custom resource"),
        pytest.param(
            owned(("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "a"), "StatefulSet"), Skip, id="x-k8s.io"
        ),
    ],
)
def test_what_an_owner_may_make_again_gets_nothing(obj: dict[str, Any], expected: type) -> None:
    """A controller that compares templates would replace an object with injected constraints for ever."""
    context = a_context(a_policy(defaults=defaults("workloads")))
    subject = read(obj, "jane")

    assert isinstance(plan_injection(subject, context.policies_for(subject), context), expected)
