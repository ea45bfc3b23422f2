"""JSON Schemas of the answer that explains, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Final

from policies.model.constraint import WhenUnsatisfiable
from policies.placement.replicas import MOST_PLACED
from policies.scheduler.changes import IN_CLUSTER, ChangeKind
from policies.scheduler.profile import Plugin
from policies.scheduler.result import Code
from webhook.http.scoring.schemas import CONSTRAINT_PROPERTIES, REVISION
from webhook.schema_forms import (
    COUNT,
    FLAG,
    TEXT,
    Schema,
    closed,
    described,
    list_of,
    nullable,
    reference,
)

_NAMES: Final[Schema] = {"type": "array", "items": TEXT, "description": "The first of their names."}
_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
_INTEGER: Final[Schema] = {"type": "integer"}
#: A value of a manifest; null where it is absent.
_ANY: Final[Schema] = {"description": "Null where it is absent."}

#: The schemas by name, each with references to others.
EXPLAIN_SCHEMAS: Final[dict[str, Schema]] = {
    "Explanation": closed(
        "Where a pod would go and why, or why it fits nowhere and what would help.",
        kubernetesVersion=TEXT,
        object=closed("What was asked about.", kind=TEXT, namespace=TEXT, name=TEXT),
        revision=REVISION,
        fits=FLAG,
        nodes=COUNT,
        feasibleNodes=COUNT,
        atMost=described(
            FLAG, "Whether something in notModeled may refuse more, so that numbers are bounds."
        ),
        runningNodes=described(
            nullable(COUNT), "Of a DaemonSet: nodes that run one of its pods now, which were left out."
        ),
        replicas={"anyOf": [reference("Replicas"), {"type": "null"}]},
        message=described(TEXT, "The condition of a pod that fits nowhere, as in a score; else empty."),
        replicaMessage=described(TEXT, "The same for the first replica that does not fit; empty if all do."),
        policy=described(nullable(TEXT), "The SpreadPolicy that gave the constraints."),
        whyNoConstraints=described(nullable(TEXT), "Why no constraint is in force; null if there is one."),
        constraints=list_of("Standing"),
        refusing=described(list_of("RefusingNodes"), "The largest group first."),
        ranking=described(list_of("Tier"), "Feasible nodes, the best score first."),
        lead=described(nullable(COUNT), "Points by which the first tier leads; null without a second one."),
        outvoted={"anyOf": [reference("Outvoted"), {"type": "null"}]},
        changes=described(
            list_of("Remedy"),
            "Each makes the pod fit, or the first replica that does not; those that "
            "are enough for every replica come first, then by how little they give up.",
        ),
        changesComplete=described(FLAG, "Whether all promising changes, and pairs of them, were tried."),
        editing=described(TEXT, "What becomes of pods that run when the manifest is edited; or empty."),
        profile=reference("Profile"),
        notModeled=described(_TEXTS, "What else the scheduler looks at, in this pod or by its profile."),
        text=described(_TEXTS, "The same for a person, in lines of at most 80 columns."),
    ),
    "Replicas": closed(
        "How many replicas of the workload's revision fit, placed one after another.",
        wanted=COUNT,
        placed=described(COUNT, "Pods of the revision that have a node."),
        fitting=described(COUNT, "Those, and as many of the missing ones as fit."),
        complete=described(FLAG, f"Whether all missing ones were tried; at most {MOST_PLACED} are."),
    ),
    "Standing": closed(
        "A constraint in force, and how its domains stand.",
        **CONSTRAINT_PROPERTIES,
        matchLabelKeys=_TEXTS,
        countsNothing=described(FLAG, "Whether its selector can match no pod in this release."),
        domainCount=described(COUNT, "Domains that an eligible node carries."),
        nodesWithoutKey=COUNT,
        nodesLeftOut=described(COUNT, "Nodes with the key that do not count."),
        histogram=described(list_of("DomainsAlike"), "All counted domains, those with fewest pods first."),
        domains=described(list_of("DomainStanding"), "By value; of many the worst three, then the best."),
        allDomains=described(FLAG, "Whether domains are all of them."),
    ),
    "DomainsAlike": closed(
        "Domains with equally many matching pods.",
        matching=COUNT,
        domains=COUNT,
        feasibleDomains=described(COUNT, "Those with a node that takes the pod."),
    ),
    "DomainStanding": closed(
        "A value of the topology key: skew = matching + selfMatch - globalMinimum.",
        value=TEXT,
        matching=COUNT,
        nodes=described(COUNT, "Eligible nodes."),
        counted=described(FLAG, "Whether there is any; otherwise the minimum leaves the domain out."),
        skew=described(nullable(_INTEGER), "With the pod; null for ScheduleAnyway."),
        fits=described(nullable(FLAG), "Whether that is within maxSkew; null for ScheduleAnyway."),
        feasibleNodes=described(COUNT, "Nodes of the domain that take the pod."),
    ),
    "RefusingNodes": closed(
        "Nodes that refuse the pod for the same reasons.",
        nodes=COUNT,
        examples=_NAMES,
        refusals=list_of("Refusal"),
    ),
    "Refusal": closed(
        "What a plugin has against them, each asked alone.",
        plugin={"enum": list(Plugin)},
        reasons=described(_TEXTS, "In the scheduler's words."),
        code={"enum": list(Code)},
        taint={
            "description": "The first taint that is not tolerated.",
            "anyOf": [closed("A taint.", key=TEXT, value=TEXT, effect=TEXT), {"type": "null"}],
        },
        shortages=list_of("Shortage"),
        breaches=list_of("Breach"),
    ),
    "Shortage": closed(
        "A resource that all of them lack; cpu in thousandths.",
        resource=TEXT,
        requested=COUNT,
        leastLeft=_INTEGER,
        mostLeft=_INTEGER,
    ),
    "Breach": closed(
        "A constraint that none of them satisfies.",
        constraint=described(COUNT, "The position in constraints."),
        missingKey=described(FLAG, "Whether they lack the topology key; nothing else is known then."),
        domain=described(nullable(TEXT), "Their domain, if they share one."),
        domains=COUNT,
        matching=described(nullable(COUNT), "In the domain where fewest are."),
        leastSkew=nullable(_INTEGER),
        mostSkew=nullable(_INTEGER),
    ),
    "Tier": closed(
        "Feasible nodes of one score.",
        score=described(nullable(COUNT), "Of PodTopologySpread, to 100; null where nothing is scored."),
        points=described(nullable(COUNT), "The score times its weight in the profile."),
        nodes=COUNT,
        examples=_NAMES,
    ),
    "Outvoted": closed(
        "A node that wins though PodTopologySpread prefers others, and with what those would have won.",
        chosen=TEXT,
        preferred=TEXT,
        margin=described(COUNT, "Points of the total."),
        plugins={
            "type": "array",
            "description": "Those that give the chosen node more.",
            "items": closed("A plugin.", plugin={"enum": list(Plugin)}, points=COUNT),
        },
        weight=described(_INTEGER, "The smallest weight of PodTopologySpread."),
        maxSkew=described(nullable(COUNT), "A smaller maxSkew; null if none was found."),
        maxSkewOf={"type": "array", "items": COUNT, "description": "Of these positions in constraints."},
        complete=described(FLAG, "Whether every smaller maxSkew was tried."),
    ),
    "Remedy": closed(
        "Changes that together make the pod fit.",
        kinds={"type": "array", "items": {"enum": list(ChangeKind)}},
        edits=described(list_of("Edit"), "Of the manifest. Entries of lists are taken away last."),
        elsewhere=described(
            list_of("Elsewhere"), "Of constraints that a policy or the scheduler gives, at their place."
        ),
        inCluster={"anyOf": [reference("InCluster"), {"type": "null"}]},
        feasibleNodes=COUNT,
        examples=_NAMES,
        replicasBefore=described(nullable(COUNT), "Replicas that fit without it; null if not counted."),
        replicasAfter=described(nullable(COUNT), "Replicas that fit with it; null if not counted."),
        enough=described(FLAG, "Whether every replica that was counted fits with it."),
        costs=described(_TEXTS, "What each change gives up, in words."),
        caution=described(FLAG, "Whether it should be the last resort."),
    ),
    "InCluster": closed(
        "A change of the cluster.",
        text=described(TEXT, "What to do."),
        nodes=_NAMES,
        count=COUNT,
        key=described(nullable(TEXT), "The label that nodes get, or the topology key of new nodes."),
        value=described(nullable(TEXT), "Its value; null for any, or for a domain that there is not yet."),
        withoutTaints=described(_TEXTS, "Keys of taints that new nodes must not have."),
    ),
    "Edit": closed(
        "A field to change.",
        field=TEXT,
        path={"type": "array", "items": {"type": ["string", "integer"]}},
        old=_ANY,
        new=_ANY,
    ),
    "Elsewhere": closed(
        "A field of a constraint to change; topologySpreadConstraints means to remove the constraint.",
        topologyKey=TEXT,
        whenUnsatisfiable={"enum": list(WhenUnsatisfiable)},
        field={"enum": [what for what in ChangeKind if what not in IN_CLUSTER]},
        new=_ANY,
    ),
}
