"""Whether the owner that an object names made it: anybody can write an ownerReference.

A controller makes objects of a template that was reviewed before, so nothing is gained by reviewing them as
what a person applies. The API server does not check that an owner exists, so the reference alone proves
nothing; who sends the request does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from policies.config.subject import Subject
    from policies.model.workload import WorkloadKinds

_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
#: Who makes pods, ReplicaSets and Jobs of templates in Kubernetes itself: the service accounts of the
#: built-in controllers, and kube-controller-manager's own user, which they share where it runs without
#: ``--use-service-account-credentials``. The webhook configurations have this list too.
#: Source: ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go``, Kubernetes 1.36.
BUILT_IN_CONTROLLERS: Final = (
    *(
        f"{_SERVICE_ACCOUNT}kube-system:{name}"
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
#: How the users of kubelets begin, which mirror static pods and name their node as owner.
_NODE: Final = "system:node:"
#: The API groups of Kubernetes' own kinds that hold a pod template.
_BUILT_IN_GROUPS: Final = frozenset({"", "apps", "batch", "extensions"})


def by_controller(subject: Subject, kinds: WorkloadKinds) -> bool:
    """Tell whether a controller made an object of a template that was reviewed.

    An owner of Kubernetes' own is believed if the request is from the account of a built-in controller, one
    of a custom kind whose template is reviewed if it is from any service account. In a file, which nobody
    sends, any owner with a template is believed.

    Args:
        subject: The object.
        kinds: The kinds whose pod templates are reviewed.
    """
    owner, user = subject.owner, subject.user
    if owner is None:
        return False
    if user in BUILT_IN_CONTROLLERS:
        return True
    group = owner.api_version.rpartition("/")[0]
    if user is not None and user.startswith(_NODE):
        return (owner.api_version, owner.kind) == ("v1", "Node")
    known = kinds.find(group, owner.kind)
    if known is None or known.is_pod:
        return False
    return user is None or (group not in _BUILT_IN_GROUPS and user.startswith(_SERVICE_ACCOUNT))


def owner_has_template(subject: Subject) -> bool:
    """Tell whether the owner of a workload may make it again and again from a template of its own.

    Whoever wrote it: where that is so, what is injected here would be a difference for ever. Any custom
    resource may have such a template, of Kubernetes' own kinds only Deployments do. The matchConditions of
    the mutating webhook say the same.
    """
    owner = subject.owner
    if owner is None:
        return False
    group = owner.api_version.rpartition("/")[0]
    if "." in group:
        return not group.endswith(".k8s.io")
    return (owner.kind, subject.kind.kind) == ("Deployment", "ReplicaSet")
