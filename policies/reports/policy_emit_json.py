"""Emitted policies as one JSON object, whose form ``policy_emit.schema.json`` says."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypedDict

import orjson

from policies.config.type_schema import Keywords
from policies.emit.emitted import Emitted, PolicyKind
from policies.model.version import KubernetesVersion

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-emit/v1"


class LeftOutFields(TypedDict):
    """Something of a SpreadPolicy that the API server will not do, or not quite.

    Attributes:
        policy: The name of the SpreadPolicy; of several, with commas.
        subject: The id of a rule, or the field of the document.
        reason: Why.
        partly: Whether it is emitted but for what the reason says.
    """

    policy: str
    subject: str
    reason: str
    partly: bool


class EmitReport(TypedDict):
    """What ``evenkeel policy emit`` emitted.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        kind: As which policies.
        kubernetesVersion: The release of the API server that they are for.
        objects: The policies, each followed by its binding.
        leftOut: What they do not say.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    kind: PolicyKind
    kubernetesVersion: str
    objects: list[dict[str, Any]]
    leftOut: list[LeftOutFields]


def render(emitted: Emitted, kind: PolicyKind, version: KubernetesVersion) -> str:
    """Return what was emitted as indented JSON."""
    report: EmitReport = {
        "schema": SCHEMA,
        "kind": kind,
        "kubernetesVersion": str(version),
        "objects": list(emitted.objects),
        "leftOut": [
            {"policy": entry.policy, "subject": entry.subject, "reason": entry.reason, "partly": entry.partly}
            for entry in emitted.left_out
        ],
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
