"""SpreadPolicy documents for tests: a test mentions only what it is about."""

from __future__ import annotations

import json
from typing import Any

from policies.config.loader import build, load_policies
from policies.config.spread_policy import BUILTIN_PREFIX, SpreadPolicy
from policies.manifests.documents import ManifestObject, load, objects_or_itself
from tests.builders import a_policy

#: A valid default constraint.
SOFT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
#: A valid default constraint that can keep pods pending.
HARD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def policy_of(**spec: Any) -> SpreadPolicy:
    """Return the policy of a valid document."""
    return build(a_policy(**spec))


def loaded(value: Any, file: str = "p.yaml") -> ManifestObject:
    """Return a value as a document, one line a field."""
    (document,) = load(json.dumps(value, indent=1), file)
    (found,) = objects_or_itself(document)
    return found


def builtin_policy(name: str) -> SpreadPolicy:
    """Return a built-in policy."""
    (policy,) = load_policies([f"{BUILTIN_PREFIX}{name}"], read=lambda _: b"")
    return policy
