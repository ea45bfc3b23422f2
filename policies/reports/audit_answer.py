"""The form of an audit in JSON: ``audit.schema.json`` and the OpenAPI document are made from these types."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.manifests.findings import Severity
from policies.placement.audit import Risk
from policies.reports.lint_report import ToolVersion
from policies.reports.score_answer import AppliedFields
from policies.scheduler.defaults import NoConstraints
from policies.scheduler.request import ConstraintOrigin

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/audit/v1"
#: How ``origins`` calls workloads without any constraint.
NO_ORIGIN: Final = "none"


class AuditedProblem(TypedDict):
    """Something that is wrong with a workload.

    Attributes:
        risk: What.
        severity: How bad it is.
        constraint: The position in ``constraints``; null where it is about no single one.
        message: What was found, with its numbers.
    """

    risk: Risk
    severity: Severity
    constraint: Count | None
    message: str


class AuditedConstraint(AppliedFields, TypedDict):
    """How the pods that a constraint in force counts are spread now.

    Attributes:
        domains: How many domains eligible nodes have.
        globalMinimum: Matching pods of the emptiest domain; 0 with fewer domains than ``minDomains``.
        most: Matching pods of the fullest domain.
        fullest: That domain; empty without domains.
        skew: How many more pods the fullest domain has than the minimum.
        within: Whether that is at most ``maxSkew``.
        neverBinds: Whether it can neither refuse a node nor prefer one.
    """

    domains: Count
    globalMinimum: Count
    most: Count
    fullest: str
    skew: int
    within: bool
    neverBinds: bool


class AuditedDomain(TypedDict):
    """The only domain that has pods of a workload.

    Attributes:
        topologyKey: The topology key.
        domain: The domain.
        domains: How many domains the nodes of the cluster have.
    """

    topologyKey: str
    domain: str
    domains: Count


class AuditedLoss(TypedDict):
    """The zone whose loss takes most pods of a workload.

    Attributes:
        zone: The zone; empty for a workload without pods in any.
        pods: How many of its running pods are there.
    """

    zone: str
    pods: Count


class AuditedRoom(TypedDict):
    """How many more replicas fit.

    Attributes:
        pods: How many.
        atMost: Whether that is an upper bound: with several DoNotSchedule constraints, and where pods ask for
            what is not modeled.
        constraint: The position of the constraint that limits them; null where only the room of nodes does.
        domain: The domain that can take no more, so that the others may not; null without one.
    """

    pods: Count
    atMost: bool
    constraint: Count | None
    domain: str | None


class AuditError(TypedDict):
    """Why the API server would refuse an object.

    Attributes:
        field: Its path, as Kubernetes writes it.
        rule: The rule that it breaks.
        message: What is wrong.
    """

    field: str
    rule: str
    message: str


class AuditedWorkload(TypedDict):
    """One workload.

    Attributes:
        namespace: Its namespace.
        apiVersion: Its apiVersion; empty if unknown.
        kind: Its kind; of a ReplicaSet, its owner's.
        name: Its name.
        uid: Its uid; empty if unknown.
        replicas: How many replicas it asks for; null where that is no number.
        running: How many of its pods are bound and not being deleted; null where its selector is not known.
        pending: How many of its pods have no node.
        problems: What is wrong, worst first.
        constraints: Those in force.
        whyNoConstraints: Why none is in force; null if there is one, or the object is invalid.
        policy: The SpreadPolicy that gives the constraints; null if none does.
        allIn: Where all its pods are, if that is one domain of several and no constraint is in force but
            kube-scheduler's built-in defaults; else null.
        lostWithWorstZone: What goes with the zone that has most of its pods; null where its selector is not
            known, or no node has a zone.
        room: How many more replicas fit; null for an invalid object.
        feasibleNodes: How many nodes the next replica fits.
        message: The scheduler's FitError where that is none; else empty.
        errors: Why it is invalid.
        notModeled: What else a scheduler looks at in its pods, which may refuse more nodes.
    """

    namespace: str
    apiVersion: str
    kind: str
    name: str
    uid: str
    replicas: Count | None
    running: Count | None
    pending: Count
    problems: list[AuditedProblem]
    constraints: list[AuditedConstraint]
    whyNoConstraints: NoConstraints | None
    policy: str | None
    allIn: AuditedDomain | None
    lostWithWorstZone: AuditedLoss | None
    room: AuditedRoom | None
    feasibleNodes: Count
    message: str
    errors: list[AuditError]
    notModeled: list[str]


class AuditAnswer(TypedDict):
    """How the workloads of a cluster are spread now.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        tool: What wrote it.
        generatedAt: When.
        kubernetesVersion: The release that the scheduler behaves as.
        namespace: The only namespace that was looked at; empty for all.
        selector: What workloads were selected by, in kubectl's syntax; empty for all.
        nodes: How many nodes the cluster has.
        pods: How many pods are bound.
        total: How many workloads were looked at.
        left: How many objects were not looked at, because the audit was ended or its time was over.
        risks: How many workloads have each risk, of all that were looked at.
        origins: In how many workloads constraints of each origin are in force; ``none``: without any.
        notes: What is not in the answer: workloads that are not shown, not looked at or not modeled, and
            objects that could not be read.
        workloads: The workloads by risk, the worst first.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    tool: ToolVersion
    generatedAt: Annotated[str, Keywords(format="date-time")]
    kubernetesVersion: str
    namespace: str
    selector: str
    nodes: Count
    pods: Count
    total: Count
    left: Count
    risks: Annotated[dict[str, Count], Keywords(propertyNames={"enum": list(Risk)})]
    origins: Annotated[dict[str, Count], Keywords(propertyNames={"enum": [*ConstraintOrigin, NO_ORIGIN]})]
    notes: list[str]
    workloads: list[AuditedWorkload]
