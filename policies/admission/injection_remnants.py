"""What an update leaves of constraints that were injected into a workload, which its author may not see.

``kubectl apply`` merges a constraint of one's own into the injected one with the same topology key, and what
it leaves out stays. With server-side apply the injected ones belong to whoever applied the workload, so that
they go with the last of one's own. The annotation that says where they came from stays in both cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from policies.admission.warnings import AdmissionWarning
from policies.config.subject import Subject
from policies.manifests.fields import ErrorList, shown_name
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload import descend

#: Where kubectl keeps what was applied.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: The fields of a constraint that may be left out, so that nobody sees whose they are.
_OPTIONAL = ("matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")


def remnants(subject: Subject, old: Subject | None) -> Iterator[AdmissionWarning]:
    """Yield what to say of an update of a workload that has, or had, injected constraints.

    Args:
        subject: The object as it would be stored.
        old: What is stored now; None for a new object, of which nothing is left.
    """
    policy = subject.annotations.get(INJECTED_ANNOTATION)
    if old is None or policy is None or subject.kind.is_pod or INJECTED_ANNOTATION not in old.annotations:
        return
    policy = shown_name(policy)
    before, now = _by_key(old.pod.constraints), _entries(subject.pod.constraints)
    if before and not now:
        text = f"no constraint is left of those that policy {policy} added; delete the annotation"
        yield AdmissionWarning(text, topic=INJECTED_ANNOTATION)
        return
    # What is still there as it was injected was merged with nothing.
    for entry in now:
        if entry == before.get(_key(entry)):
            del before[_key(entry)]
    written = _written(subject) if before else {}
    for position, entry in enumerate(now):
        injected, own = before.get(_key(entry), {}), written.get(_key(entry), {})
        shared = (name for name in _OPTIONAL if name in entry and name in injected and name not in own)
        kept = [name for name in shared if entry[name] == injected[name]]
        if kept:
            yield AdmissionWarning(
                f"keeps {' and '.join(kept)} of policy {policy}, with whose constraint yours was merged: "
                "write them, or null",
                topic=INJECTED_ANNOTATION,
                paths=(subject.kind.constraints_path.index(position),),
            )


def _entries(constraints: object) -> list[dict[str, Any]]:
    listed = constraints if isinstance(constraints, list) else ()
    return [entry for entry in listed if isinstance(entry, dict)]


def _key(entry: Mapping[str, Any]) -> str:
    key = entry.get("topologyKey")
    return key if isinstance(key, str) else ""


def _by_key(constraints: object) -> dict[str, dict[str, Any]]:
    """Return the first constraint of each topology key; kubectl merges by that alone."""
    return {_key(entry): entry for entry in reversed(_entries(constraints))}


def _written(subject: Subject) -> dict[str, dict[str, Any]]:
    """Return the constraints that kubectl applied by their keys, none where nobody knows."""
    try:
        applied = orjson.loads(subject.annotations.get(LAST_APPLIED, ""))
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(applied, dict):
        return {}
    spec = descend(applied, (*subject.kind.template, "spec"), ErrorList())
    return _by_key(spec.get("topologySpreadConstraints"))
