"""Nobody but a proved controller is exempt from a rule, whatever owner an object names.

Every user, owner, kind and operation are tried together, in the webhook and in the policies that are emitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict
from policies.admission.validation import UNPROVED
from policies.config.controllers import BUILT_IN_CONTROLLERS, OWN_GROUPS, TRUSTED_CONTROLLERS
from policies.config.loader import build
from policies.config.spread_policy import SpreadPolicy
from policies.emit.emit import emit
from policies.emit.emitted import PolicyKind
from policies.model.workload_kinds import KNOWN_KINDS
from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.policies.emit.api_server import EmittedPolicy
from tests.policies.emit.requests import a_request, decided
from webhook.admission.review import Phase

ACCOUNT = "system:serviceaccount:"
NODE = "system:node:n1"
USERS = (
    "jane", "", "system:admin", "system:kube-controller", "system:kube-scheduler", NODE,
    f"{ACCOUNT}ci:deployer", f"{ACCOUNT}argocd:argocd-application-controller", f"{ACCOUNT}shop:argo-rollouts",
    f"{ACCOUNT}argo-rollouts:argo-rollouts-2", f"x{ACCOUNT}argo-rollouts:argo-rollouts",
    f"{ACCOUNT}knative-serving:controller", f"{ACCOUNT}kube-system:default",
    f"{ACCOUNT}kube-system:replicaset-controllers", *BUILT_IN_CONTROLLERS, *TRUSTED_CONTROLLERS,
)  # fmt: skip
#: apiVersion and kind of an owner, and whether its template is reviewed and it is no kind of Kubernetes' own.
OWNERS = {
    ("argoproj.io/v1alpha1", "Rollout"): True,
    ("argoproj.io/v9", "Rollout"): True,
    ("apps.kruise.io/v1alpha1", "CloneSet"): True,
    ("serving.knative.dev/v1", "Service"): True,
    ("serving.knative.dev/v1", "Revision"): False,
    ("argoproj.io.example.com/v1", "Rollout"): False,
    ("argoproj.io", "Rollout"): False,
    ("argoproj.io/v1alpha1", "Application"): False,
    ("apps/v1", "ReplicaSet"): False,
    ("apps/v1", "Deployment"): False,
    ("batch/v1", "Job"): False,
    ("v1", "Node"): False,
    ("v1", "ConfigMap"): False,
    ("acme.io/v1", "Database"): False,
}
#: Those of Kubernetes' own in which the rule denies.
KINDS = [kind for kind in KNOWN_KINDS if kind.group in OWN_GROUPS]
RULE = "selector-missing"
BAD = {"topologySpreadConstraints": [a_constraint(labelSelector=None)]}
#: Each is one way to be let off that an owner which is believed opens.
POLICIES = {
    "rules": [a_policy()],
    "exceptions": [
        a_policy(exceptions=[{"rules": [RULE], "names": ["trusted"], "reason": "of an owner of that name"}])
    ],
    "kinds": [
        a_policy(
            "a-lax", scope={"kinds": [*{kind for _, kind in OWNERS}]}, rules={RULE: {"enforcement": "audit"}}
        ),
        a_policy(
            "strict", scope={"kinds": ["Pod", *{kind.kind for kind in KNOWN_KINDS}]}, enforcement="deny"
        ),
    ],
}


def is_proved(user: str, owner: tuple[str, str]) -> bool:
    """Tell it from the lists alone, in other words than the code."""
    if user in BUILT_IN_CONTROLLERS:
        return True
    if user == NODE:
        return owner == ("v1", "Node")
    return user in TRUSTED_CONTROLLERS and OWNERS[owner]


def requests() -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield every request with whether a controller is proved to have made the object."""
    for user, owner, kind in itertools.product(USERS, OWNERS, KINDS):
        reference = {
            "apiVersion": owner[0],
            "kind": owner[1],
            "name": "trusted",
            "uid": "1",
            "controller": True,
        }
        metadata: dict[str, Any] = {
            "ownerReferences": [{**reference, "kind": "Helper", "controller": False}, reference]
        }
        proved = is_proved(user, owner)
        if kind.is_pod:
            yield a_request(a_pod(spec=BAD, **metadata), user=user), proved
            continue
        obj = a_workload(kind.kind, kind.group, spec=BAD, **metadata)
        yield a_request(obj, user=user), proved
        yield a_request(obj, a_workload(kind.kind, kind.group, **metadata), user=user), proved


@cache
def policies(name: str) -> tuple[SpreadPolicy, ...]:
    return tuple(map(build, POLICIES[name]))


def shown(request: Mapping[str, Any]) -> str:
    owner = request["object"]["metadata"]["ownerReferences"][-1]
    return f"{request['userInfo']['username']} {request['operation']} {request['kind']['kind']} of {owner}"


@pytest.mark.parametrize("name", ["rules", "exceptions"])
def test_only_a_proved_controller_is_exempt(name: str) -> None:
    """And who is not is told in the audit log."""
    count = 0
    for request, proved in requests():
        decision = decided(request, policies(name), Phase.VALIDATE)
        count += proved

        assert (decision.verdict is AdmissionVerdict.DENIED) == (not proved), shown(request)
        assert (UNPROVED in decision.audit) == (not proved), shown(request)
    assert count > 500


def test_no_owner_chooses_a_policy() -> None:
    """A kind that the object has itself counts, that of an owner only if it is believed."""
    lax = {kind for _, kind in OWNERS}
    for request, proved in requests():
        decision = decided(request, policies("kinds"), Phase.VALIDATE)
        let_off = proved or request["kind"]["kind"] in lax

        assert (decision.verdict is AdmissionVerdict.DENIED) == (not let_off), shown(request)


def test_emitted_policies_believe_the_same() -> None:
    """The API server looks at the same lists."""
    objects = emit(policies("rules"), PolicyKind.VALIDATING, today=date(2026, 11, 23)).objects
    denying = EmittedPolicy(objects[0])
    for request, proved in requests():
        # What the condition asks does not depend on the kind.
        if request["kind"]["kind"] != "Pod":
            continue

        assert denying.matches(request) == (not proved), shown(request)
