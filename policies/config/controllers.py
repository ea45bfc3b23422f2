"""Which users are believed when they send an object that names a controller as its owner.

Anyone can write an ownerReference, and the API server does not check that the owner exists. Nor would that
prove anything: anyone who may make the owner, or may read its uid, can write what refers to it. Only the user
of the request is a proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown
from policies.model.workload_kinds import BUILT_IN_GROUPS

#: How the users of service accounts begin; ``NAMESPACE:NAME`` follows.
SERVICE_ACCOUNT: Final = "system:serviceaccount:"
#: Who makes pods, ReplicaSets and Jobs of templates in Kubernetes itself: the service accounts of the
#: built-in controllers, and kube-controller-manager's own user, which they share where it runs without
#: ``--use-service-account-credentials``. The webhook configurations have this list too.
#: Source: ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go``, Kubernetes 1.36.
BUILT_IN_CONTROLLERS: Final = (
    *(
        f"{SERVICE_ACCOUNT}kube-system:{name}"
        for name in (
            "cronjob-controller",
            "daemon-set-controller",
            "deployment-controller",
            "job-controller",
            "replicaset-controller",
            "replication-controller",
            "statefulset-controller",
        )
    ),
    "system:kube-controller-manager",
)
#: Who makes objects of the templates of the custom kinds that are known without an option, as their projects
#: install them. What Knative makes of a Service belongs to a Revision, whose template is not reviewed.
#: Source: ``manifests/install.yaml``, Argo Rollouts 1.8; ``charts/kruise``, OpenKruise 1.8.
TRUSTED_CONTROLLERS: Final = (
    f"{SERVICE_ACCOUNT}argo-rollouts:argo-rollouts",
    f"{SERVICE_ACCOUNT}kruise-system:kruise-manager",
)
#: The groups that kinds of Kubernetes with a pod template have or once had.
OWN_GROUPS: Final = BUILT_IN_GROUPS | {"extensions"}
#: How the users of kubelets begin, which mirror static pods and name their node as owner.
NODE: Final = "system:node:"
_ACCOUNT: Final = re.compile(
    rf"{SERVICE_ACCOUNT}[a-z0-9]([-a-z0-9]*[a-z0-9])?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
)


def parse_trusted_controllers(users: Iterable[str]) -> frozenset[str]:
    """Read the setting that names trusted controllers; an empty text names none.

    Raises:
        UsageError: One is no service account's user, so that no request would ever be from it.

    >>> parse_trusted_controllers(["system:serviceaccount:acme:operator", ""])
    frozenset({'system:serviceaccount:acme:operator'})
    """
    named = [user for user in users if user]
    wrong = [user for user in named if not _ACCOUNT.fullmatch(user)]
    if wrong:
        listed = ", ".join(map(shown, wrong))
        raise UsageError(
            f"--trusted-controller: Invalid value: {listed}: must be {SERVICE_ACCOUNT}NAMESPACE:NAME"
        )
    return frozenset(named)
