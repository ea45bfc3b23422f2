"""The requests of the page: a manifest that a person edits, and what is to be done with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Literal

from planning.simulation.events import NodeEvents
from planning.simulation.limits import MOST_ROLLED_OUT
from policies.manifests.edits import FieldEdit
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
)
from policies.manifests.wire import Form, Keywords, Received
from webhook.requests.placement import PlacementFields
from webhook.requests.score import ScoreRequest
from webhook.requests.simulate import Seed, SimulateRequest, SimulationFields

#: Bytes of a text that a person edits: its YAML takes 10 µs a byte, again and again as they type. The objects
#: that people write have a tenth of it.
MOST_TEXT_BYTES: Final = 2**18


def _check_text(name: str, text: str, found: ErrorList) -> None:
    path = FieldPath((name,))
    if not text.strip():
        found.add(required_value(path, "is empty", FIELD_MISSING))
    elif len(text.encode(errors="surrogatepass")) > MOST_TEXT_BYTES:
        problem = f"has more than {MOST_TEXT_BYTES >> 10} KiB, use evenkeel lint and evenkeel explain"
        found.add(FieldError(path, problem, ErrorKind.TOO_LONG, VALUE_INVALID))


@dataclass(frozen=True, kw_only=True)
class ManifestBody(Received):
    """A manifest."""

    manifest: str  #: One object, YAML or JSON.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        _check_text("manifest", self.manifest, found)

    def request(self, obj: dict[str, Any]) -> PlacementFields:
        """Return the request of ``/v1`` about the object of the manifest."""
        return ScoreRequest(pod=obj)


@dataclass(frozen=True, kw_only=True)
class WhatIfBody(SimulationFields, ManifestBody):
    """A manifest whose replicas are scheduled; as ``POST /v1/simulate`` in all else."""

    #: Whether the manifest is rolled out first, as the new revision of what runs, so that it replaces pods
    #: instead of adding to them. ``replicas`` are then all that it wants.
    applied: bool | None = None

    def request(self, obj: dict[str, Any]) -> SimulateRequest:
        """Return the request of ``/v1/simulate``."""
        shared = {entry.name: getattr(self, entry.name) for entry in fields(SimulationFields)}
        return SimulateRequest(workload=obj, **shared)


@dataclass(frozen=True, kw_only=True)
class DisruptBody(Received):
    """Changes to the nodes of the whole cluster."""

    #: It, in this order. Displaced pods are then scheduled again, the highest priority first.
    actions: Annotated[NodeEvents, Keywords(minItems=1)]


@dataclass(frozen=True, kw_only=True)
class RolloutBody(ManifestBody):
    """A manifest that is rolled out as the new revision of what runs."""

    #: How many replicas it wants then; left out, its own number.
    replicas: Annotated[int, Keywords(minimum=0, maximum=MOST_ROLLED_OUT)] | None = None
    seed: Seed | None = None  #: Chooses among the best nodes at random; left out, the first by name is taken.

    def request(self, obj: dict[str, Any]) -> SimulateRequest:
        """Return the request of ``/v1/simulate``."""
        return SimulateRequest(workload=obj, rollout=True, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class ReportBody(WhatIfBody):
    """A view of the page that is saved as a report; ``seed`` and ``replicas`` as in its request."""

    #: What is shown: where the next pod goes, what if, or the rollout.
    view: Literal["explain", "simulate", "rollout"]
    command: str  #: The command that answers the same, which the report names.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        _check_text("command", self.command, found)


@dataclass(frozen=True, kw_only=True)
class ShownBody(Received):
    """A view of the cluster that is saved as a file, in the words of the page."""

    title: str  #: What it is about.
    action: str  #: What happens in it; empty for nothing.
    verdict: str  #: What comes of it, in a sentence; empty where that is not known.
    command: str  #: The command that answers the same; empty for none.


@dataclass(frozen=True, kw_only=True)
class SuggestBody(ManifestBody):
    """A manifest, and a suggestion of its explanation."""

    edits: Annotated[list[dict[str, Any]], Form(list[FieldEdit])]  #: The edits of the suggestion.


@dataclass(frozen=True, kw_only=True)
class PatchBody(ManifestBody):
    """A manifest, and what it was before."""

    original: str  #: What it was.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        _check_text("original", self.original, found)
