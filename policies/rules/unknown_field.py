"""A field that does not exist in the API.

## What it finds
A name, in an entry of `topologySpreadConstraints` or in its selector, that does not exist in Kubernetes
1.36. And `topologySpreadConstraints` itself, misspelled or where Kubernetes' own kinds have no such field:
in the spec of a Deployment, beside the pod's `spec`, in `affinity`, in a container. For a newer release of
Kubernetes nothing is reported, since it may have brought the field.

## Why it matters
`kubectl` rejects the object, and without strict validation the API server drops the field silently. A wrong
indentation is the usual cause.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {}
    matchLabels: {app: web}
    matchLabelKeys: [pod-template-hash]
```
```yaml
topologySpreadConstraints:
  - maxskew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

```yaml
spec:
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {matchLabels: {app: web}}
```

## Passes
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Correct the spelling, or move the field to where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from policies.manifests.fields import FieldPath, list_member, shown
from policies.model.api_rules import ApiRule
from policies.model.version import KNOWN_VERSION
from policies.model.workload import Workload
from policies.model.workload_kinds import BUILT_IN_GROUPS
from policies.rules.base import Context, Problem, api_check

ID = ApiRule.UNKNOWN_FIELD
SEE = "https://github.com/kubernetes/autoscaler/pull/4663"


#: The field and how it is misspelled: a letter in the wrong case, the last one left out.
NAMES: Final = frozenset(
    map("".join, product("tT", ["opology"], "sS", ["pread"], "cC", ["onstraint"], ["s", ""]))
)

_of_entries = api_check(ApiRule.UNKNOWN_FIELD)


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each field that an entry does not have, and each list of constraints that is in a wrong place."""
    if workload.errors:
        yield from _of_entries(workload, context)
    if workload.kind.group not in BUILT_IN_GROUPS or context.version > KNOWN_VERSION:
        return
    place = workload.kind.constraints_path
    for way, node in _around(workload):
        # Nearly always there is none, and the rule runs on every workload.
        if NAMES.isdisjoint(node):
            continue
        for name in node:
            if name in NAMES and (*way, name) != place.segments:
                yield Problem(
                    FieldPath((*way, name)), f"unknown field {shown(name)}: constraints belong in {place}"
                )


def _around(workload: Workload) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield the objects in which people put the field: those above the pod's spec, it, and some below."""
    way: tuple[str | int, ...] = ()
    node = workload.obj
    for name in (*workload.kind.template, "spec"):
        yield way, node
        below = node.get(name)
        if not isinstance(below, dict):
            return
        way, node = (*way, name), below
    yield way, node
    if isinstance(affinity := node.get("affinity"), dict):
        yield (*way, "affinity"), affinity
    for position, container in enumerate(list_member(node, "containers")):
        if isinstance(container, dict):
            yield (*way, "containers", position), container
