"""The form of a comparison of releases in JSON: ``diff.schema.json`` is made from these types."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.placement.release_diff import DiffKind

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/diff/v1"


class ResponsibleChange(TypedDict):
    """An entry of the table of releases.

    Attributes:
        since: The first release that does so.
        what: What changes.
        source: Where it is written.
    """

    since: str
    what: str
    source: str


class ReleaseOutcomeFields(TypedDict):
    """What one release makes of a workload.

    Attributes:
        errors: Why the API server refuses it; empty if it does not.
        feasibleNodes: How many nodes the next pod fits.
        best: The best of them, by name.
        condition: The message of the next pod's PodScheduled condition; empty if it fits somewhere.
    """

    errors: list[str]
    feasibleNodes: Count
    best: list[str]
    condition: str


class DifferingWorkload(TypedDict):
    """A workload for which two releases differ.

    Attributes:
        namespace: Its namespace.
        kind: Its kind; of a ReplicaSet, its owner's.
        name: Its name.
        difference: The gravest difference.
        breaks: Whether pods that the earlier release places are refused, or fit nowhere, in the later one.
        message: What differs, in words.
        before: What the earlier release makes of it.
        after: What the later release makes of it.
        responsible: The changes between the releases that make a difference as grave.
    """

    namespace: str
    kind: str
    name: str
    difference: DiffKind
    breaks: bool
    message: str
    before: ReleaseOutcomeFields
    after: ReleaseOutcomeFields
    responsible: list[ResponsibleChange]


#: ``from`` is a word of Python, so no class can declare it.
_EarlierRelease = TypedDict("_EarlierRelease", {"from": str})


class DiffAnswer(_EarlierRelease, TypedDict):
    """What an upgrade of Kubernetes changes for the workloads of a cluster.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        from: The earlier release.
        to: The later release.
        total: How many workloads were compared.
        left: How many objects were not looked at, because the comparison was ended.
        breaks: Whether the later release refuses or cannot place pods that the earlier one places.
        notes: What the comparison does not say, and what could not be read of the cluster.
        workloads: Those for which the releases differ, the gravest differences first.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    to: str
    total: Count
    left: Count
    breaks: bool
    notes: list[str]
    workloads: list[DifferingWorkload]
