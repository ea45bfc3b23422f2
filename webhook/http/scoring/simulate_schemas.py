"""JSON Schemas of the simulate request and its answer, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Final

from policies.placement.scheduling_queue import MOST_PODS
from webhook.http.scoring.request import CONTEXT_FIELDS
from webhook.http.scoring.schemas import CONSTRAINT_PROPERTIES, REVISION, SCHEMAS
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

_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
_COUNTS: Final[Schema] = {"type": "object", "additionalProperties": COUNT}

#: The schemas by name, each with references to others.
SIMULATE_SCHEMAS: Final[dict[str, Schema]] = {
    "SimulateRequest": optional(
        "Either queue, or workload and replicas.",
        queue={
            "type": ["array", "null"],
            "description": "Pods in the order in which they are scheduled: manifests, or as the API server "
            "has stored them. They may leave out apiVersion, kind and metadata.name.",
            "items": {"type": "object"},
            "maxItems": MOST_PODS,
        },
        workload={
            "type": ["object", "null"],
            "description": "A workload whose replicas are scheduled, or a Pod.",
            "properties": {"apiVersion": TEXT, "kind": TEXT},
        },
        replicas={
            "type": ["integer", "null"],
            "description": "How many replicas are scheduled beside those that run; left out, those that the "
            "workload wants and that have no node.",
            "minimum": 0,
            "maximum": MOST_PODS,
        },
        seed=described(
            nullable(COUNT), "Chooses among the best nodes at random; left out, the first by name is taken."
        ),
        runs={
            "type": ["integer", "null"],
            "description": "How often the pods are scheduled, with other choices among the best nodes.",
            "minimum": 1,
        },
        nodesToScore={
            "description": "kube-scheduler's percentageOfNodesToScore, of which adaptive is the default; "
            "left out, all nodes are looked at.",
            "anyOf": [
                {"const": "adaptive"},
                {"type": "integer", "minimum": 1, "maximum": 100},
                {"type": "null"},
            ],
        },
        **{name: SCHEMAS["ScoreRequest"]["properties"][name] for name in CONTEXT_FIELDS},
    )
    | {"type": "object"},
    "Simulation": closed(
        "What becomes of pods that are scheduled one after another.",
        kubernetesVersion=TEXT,
        nodes=COUNT,
        nodesToFind=described(COUNT, "How many feasible nodes are looked for, for each pod."),
        revision=REVISION,
        replicas={
            "description": "The replicas of the workload before; null where their number is not known.",
            "anyOf": [closed("Before.", wanted=COUNT, placed=COUNT), {"type": "null"}],
        },
        seed=nullable(COUNT),
        steps=described(list_of("Step"), "What becomes of each pod, in order."),
        complete=described(FLAG, "Whether all pods were tried."),
        pending=described(COUNT, "Pods that got no node."),
        domains=described(list_of("DomainChange"), "Of each constraint in force."),
        allDomains=described(FLAG, "Whether domains are those of all pods; of many different only some are."),
        runs={
            "description": "What became of the pods every time; the rest is of the first. Null without runs.",
            "anyOf": [reference("SimulationRuns"), {"type": "null"}],
        },
        notModeled=described(
            _TEXTS, "What else a scheduler looks at in these pods, which may refuse more nodes."
        ),
        notLookedAt=described(_TEXTS, "What may happen in a real cluster meanwhile."),
    ),
    "SimulationRuns": closed(
        "The ends of many simulations.",
        wanted=COUNT,
        done=COUNT,
        pending={
            "type": "array",
            "description": "In how many runs each number of pods stayed pending.",
            "items": closed("Equal ends.", pods=COUNT, runs=COUNT),
        },
        domains=described(list_of("DomainSpread"), "In the order of the domains of the first run."),
    ),
    "DomainSpread": closed(
        "Matching pods of each domain at the ends of all runs.",
        least=_COUNTS,
        median=_COUNTS,
        most=_COUNTS,
        skews={"type": "array", "items": closed("Equal skews.", skew=COUNT, runs=COUNT)},
    ),
    "Step": {"anyOf": [reference("BoundStep"), reference("PendingStep")]},
    "BoundStep": {
        **(
            bound := closed(
                "A pod that got a node.",
                name=TEXT,
                namespace=TEXT,
                node=TEXT,
                feasible=described(COUNT, "How many nodes were feasible."),
                tied=described(_TEXTS, "The feasible nodes with the highest total, by name."),
                score=described(COUNT, "That total; absent if only one node was feasible."),
            )
        ),
        "required": [name for name in bound["required"] if name != "score"],
    },
    "PendingStep": closed(
        "A pod that got none; the next was tried.",
        name=TEXT,
        namespace=TEXT,
        message=described(TEXT, "The scheduler's FitError."),
        condition=described(TEXT, "The message of its PodScheduled condition."),
    ),
    "DomainChange": closed(
        "The domains of a constraint in force.",
        pod=described(TEXT, "The first pod that has the constraint."),
        constraint=described(COUNT, "Its position among those in force for that pod."),
        **{
            name: schema
            for name, schema in CONSTRAINT_PROPERTIES.items()
            if name not in ("globalMinimum", "weight")
        },
        before=described(_COUNTS, "Matching pods of each domain that an eligible node has, before."),
        after=described(_COUNTS, "The same at the end."),
        skew=described(COUNT, "How many more pods the fullest has at the end than the emptiest."),
    ),
}
