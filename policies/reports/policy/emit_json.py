"""Emitted policies as one JSON object, whose form ``policy_emit.schema.json`` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from policies.emit.emitted import Emitted, LeftOut, PolicyKind
from policies.manifests.wire import Keywords, dumps
from policies.model.version import KubernetesVersion

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-emit/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitReport:
    """The result of ``evenkeel policy emit``.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        kind: As which policies.
        kubernetes_version: The release of the API server that they are for.
        objects: The policies, each followed by its binding.
        left_out: What they leave out.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    kind: PolicyKind
    kubernetes_version: KubernetesVersion
    objects: Sequence[dict[str, Any]]
    left_out: Sequence[LeftOut]


def render(emitted: Emitted, kind: PolicyKind, version: KubernetesVersion) -> str:
    """Return the emitted objects as indented JSON."""
    report = EmitReport(
        kind=kind, kubernetes_version=version, objects=emitted.objects, left_out=emitted.left_out
    )
    return dumps(report, indent=True).decode()
