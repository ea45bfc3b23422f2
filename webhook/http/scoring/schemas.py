"""JSON Schemas of the score request and its answer, as the OpenAPI document shows them.

They describe; what a request may hold is checked by who reads it, who also says where and what is wrong.
"""

from __future__ import annotations

from typing import Final

from policies.model.constraint import CONSTRAINT_FIELDS, NodeInclusionPolicy, WhenUnsatisfiable
from policies.scheduler.configuration import DefaultingType
from policies.scheduler.profile import Plugin
from policies.scheduler.request import ConstraintOrigin
from policies.scheduler.result import Code, PhaseStatus
from webhook.http.scoring.cluster import LISTS, NAMELESS_KINDS
from webhook.schema_forms import (
    COUNT,
    FLAG,
    TEXT,
    Schema,
    closed,
    described,
    list_of,
    nullable,
    optional,
    reference,
)

_OBJECT: Final[Schema] = {
    "type": "object",
    "description": "An object of the Kubernetes API; apiVersion and kind may be left out.",
    "required": ["metadata"],
    "properties": {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1}, "namespace": TEXT},
        },
    },
}

_NAMELESS_OBJECT: Final[Schema] = {
    "type": "object",
    "description": "A pod or a service; its name may be left out too.",
    "properties": {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {
            "type": ["object", "null"],
            "properties": {"name": {"type": ["string", "null"]}, "namespace": TEXT},
        },
    },
}

_REQUEST: Final[Schema] = {
    "type": "object",
    "required": ["pod"],
    "additionalProperties": False,
    "properties": {
        "pod": {
            "type": "object",
            "description": "A Pod, or a workload; then the pod that its controller would make next is meant. "
            "Only a Pod may leave out apiVersion and kind.",
            "properties": {"apiVersion": TEXT, "kind": TEXT},
        },
        "cluster": {
            "description": "The cluster; left out, the one that the server is connected to.",
            "anyOf": [reference("Cluster"), reference("List")],
        },
        "defaults": reference("Defaults"),
        "kubernetesVersion": {
            "type": ["string", "null"],
            "description": "The release to behave as; left out, the server's.",
            "examples": ["1.36"],
        },
    },
}

#: What a constraint in force asks for, in every answer.
CONSTRAINT_PROPERTIES: Final[dict[str, Schema]] = {
    "origin": {"enum": list(ConstraintOrigin), "description": "Where it comes from."},
    "topologyKey": TEXT,
    "whenUnsatisfiable": {"enum": list(WhenUnsatisfiable)},
    "maxSkew": {"type": "integer", "minimum": 1},
    "minDomains": {"type": "integer", "minimum": 1},
    "nodeAffinityPolicy": {"enum": list(NodeInclusionPolicy)},
    "nodeTaintsPolicy": {"enum": list(NodeInclusionPolicy)},
    "selector": described(
        nullable(TEXT), "As kubectl prints it, narrowed by matchLabelKeys; null selects nothing."
    ),
    "selfMatch": described(FLAG, "Whether the pod itself is selected."),
    "globalMinimum": described(
        nullable(COUNT), "The smallest count over all domains; null for ScheduleAnyway."
    ),
    "weight": {
        "type": ["number", "null"],
        "description": "ln(size + 2); null for DoNotSchedule, and where no node was scored.",
    },
}

#: Which revision of a workload was judged, in every answer.
REVISION: Final[Schema] = {
    "description": "The revision of the workload that the pod was judged as; null for what has none.",
    "anyOf": [
        closed(
            "The one in the cluster with the same template, or else a new one.",
            hash=described(
                nullable(TEXT), "With which its pods are marked; null where it is not in the cluster."
            ),
            new=described(FLAG, "Whether it was judged as new: pods of earlier ones have another hash."),
        ),
        {"type": "null"},
    ],
}

_CONSTRAINT: Final = closed("A constraint in force.", **CONSTRAINT_PROPERTIES, domains=list_of("Domain"))

_CHECK: Final = closed(
    "What a DoNotSchedule constraint saw on a node: skew = matching + selfMatch - globalMinimum.",
    constraint=described(COUNT, "The position in constraints."),
    domain=described(nullable(TEXT), "Null where the node lacks the topology key."),
    matching=COUNT,
    selfMatch={"enum": [0, 1]},
    globalMinimum=COUNT,
    skew={"type": ["integer", "null"]},
    maxSkew={"type": "integer", "minimum": 1},
    satisfied=FLAG,
)

#: The schemas by name, each with references to others.
SCHEMAS: Final[dict[str, Schema]] = {
    "ScoreRequest": _REQUEST,
    "Cluster": optional(
        "The objects of a cluster by kind.",
        **{
            name: {
                "type": ["array", "null"],
                "items": reference("NamelessObject" if kind in NAMELESS_KINDS else "Object"),
            }
            for name, kind in LISTS.items()
        },
    ),
    "List": {
        "type": "object",
        "description": "What kubectl get nodes,pods,services,rc,rs,sts -A -o json prints.",
        "required": ["kind", "items"],
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "List"},
            "items": {"type": ["array", "null"], "items": {"type": "object"}},
        },
    },
    "Object": _OBJECT,
    "NamelessObject": _NAMELESS_OBJECT,
    "Defaults": optional(
        "The default constraints of the scheduler, in place of the server's policies and configuration.",
        defaultingType={"enum": [*DefaultingType, None]},
        defaultConstraints={
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "required": ["maxSkew", "topologyKey", "whenUnsatisfiable"],
                "properties": {name: {} for name in CONSTRAINT_FIELDS if name != "labelSelector"}
                | {
                    "maxSkew": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
                    "topologyKey": TEXT,
                    "whenUnsatisfiable": {"enum": list(WhenUnsatisfiable)},
                },
            },
        },
    ),
    "ScoreAnswer": closed(
        "Where the pod could go; the numbers are exactly kube-scheduler's.",
        kubernetesVersion=TEXT,
        revision=REVISION,
        preFilter={
            "enum": list(PhaseStatus),
            "description": "Skip: no DoNotSchedule constraint is in force.",
        },
        preScore={
            "enum": list(PhaseStatus),
            "description": "Skip: no ScheduleAnyway constraint, or no node.",
        },
        constraints=list_of("Constraint"),
        nodes=described(list_of("Node"), "Sorted by name."),
        feasibleNodes=COUNT,
        best=described(
            {"type": "array", "items": TEXT}, "The feasible nodes with the highest total, by name."
        ),
        message=described(
            TEXT, "The scheduler's FitError for a pod that fits nowhere; empty if it fits somewhere."
        ),
        condition=described(
            TEXT, "The message of the pod's PodScheduled condition: with what preemption adds; else empty."
        ),
        profile=reference("Profile"),
        notModeled={
            "type": "array",
            "items": TEXT,
            "description": "What else the scheduler looks at, in this pod or by its profile.",
        },
    ),
    "Profile": closed(
        "The profile of kube-scheduler that the pod was scheduled by.",
        schedulerName=TEXT,
        differences=described(
            {"type": "array", "items": TEXT}, "What it does otherwise than the default profile, in words."
        ),
    ),
    "Constraint": _CONSTRAINT,
    "Domain": closed(
        "A value of the topology key that an eligible node carries.",
        value=TEXT,
        matching=described(COUNT, "Pods that count."),
        nodes=described(COUNT, "Eligible nodes."),
    ),
    "Node": closed(
        "One node.",
        name=TEXT,
        feasible=FLAG,
        rejections=described(list_of("Rejection"), "Every plugin that refuses the node, each asked alone."),
        checks=list_of("Check"),
        rawScore=described(nullable(COUNT), "Lower is better; null where not feasible or nothing is scored."),
        score={"type": ["integer", "null"], "minimum": 0, "maximum": 100},
        plugins={
            "type": ["object", "null"],
            "description": "What each plugin that scores gives the node; null where not feasible.",
            "propertyNames": {"enum": list(Plugin)},
            "additionalProperties": reference("PluginScore"),
        },
        total=described(nullable(COUNT), "The sum of the weighted scores; null where not feasible."),
    ),
    "PluginScore": closed(
        "What one plugin gives a node.",
        raw={"type": "integer", "description": "What Score returns; negative where pods keep away."},
        normalized={"type": "integer", "minimum": 0, "maximum": 100},
        weighted={"type": "integer", "description": "Normalized, times the plugin's weight in the profile."},
    ),
    "Rejection": closed(
        "A plugin's refusal in the scheduler's words.",
        plugin={"enum": list(Plugin)},
        reason=TEXT,
        code={"enum": list(Code)},
    ),
    "Check": _CHECK,
}
