"""Everything in a request by which an object is let off: found by trying, and listed in docs/admission.md.

Of objects that are denied, get default constraints or a warning of their next pod, each field that is read is
given other values. Those that let the object off are the list.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.config.controllers import BUILT_IN_CONTROLLERS
from policies.model.workload import Workload
from policies.rules.base import all_rules
from tests.builders import a_constraint, a_node, a_pod, a_policy, a_workload, kind_of
from tests.policies.config.contexts import a_context, defaults
from tests.security.shapes import a_rich_workload
from tests.webhook.reviewing import a_review_request
from webhook.admission.respond import decide
from webhook.admission.review import Phase, Review

Object = dict[str, Any]
Path_ = tuple[str, ...]
LABELS = ("metadata", "labels")

ROOT = Path(__file__).parents[2]
TRUSTED: Final = min(user for user in BUILT_IN_CONTROLLERS if "replicaset" in user)
OWNER: Final = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-1",
    "controller": True,
    "uid": "1",
}
SPREAD: Final = {"topologySpreadConstraints": [a_constraint(labelSelector=None)]}
POLICY: Final = a_policy(
    annotationExemptions="allowed",
    defaults=defaults("workloads"),
    scope={"excludeNamespaces": ["tools"], "objectSelector": {"matchExpressions": [
        {"key": "tier", "operator": "DoesNotExist"}]}},
    exceptions=[{"names": ["legacy-*"], "rules": ["selector-missing"], "reason": "old"}],
)  # fmt: skip
#: What an object's annotations may be named: every name of the kind that the source has.
ANNOTATIONS: Final = sorted(
    {
        name
        for folder in ("policies", "webhook/admission")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r'"((?:evenkeel\.dev|[a-z-]+\.io|helm\.sh)/[a-z.-]+)"', path.read_text())
    }
)
#: What a field may be instead; None takes it away.
VALUES: Final[tuple[Any, ...]] = (
    None, "", "other", "tools", "legacy-1", True, False, 0, 5, [], {}, [{"name": "x"}], ["x"], [OWNER],
    [OWNER | {"apiVersion": "acme.io/v1"}],
    {"x": "y"}, {"tier": "x"}, {"type": "Recreate"},
)  # fmt: skip
#: What an annotation may say.
TEXTS: Final = ("false", "true", "selector-missing: why\nunschedulable: why")
#: The parts of an object that its mistakes are in, or that say what its pods are.
CONTENT: Final = {
    "topologySpreadConstraints", "containers", "initContainers", "selector", "matchLabels", "nodeSelector",
    "affinity", "tolerations", "resources", "overhead", "volumes",
}  # fmt: skip
#: What a pod may say besides, whatever is read of a copy of it.
OF_PODS: Final = sorted({*a_rich_workload()["spec"]["template"]["spec"], "nodeName", "schedulingGates"})


class Seen(dict[str, Any]):
    """An object that notes which of its members are looked at."""

    def __init__(self, value: Object, way: Path_, seen: set[Path_]) -> None:
        super().__init__({key: noting(each, (*way, key), seen) for key, each in value.items()})
        self.way, self.seen = way, seen

    def __getitem__(self, key: str) -> Any:
        self.seen.add((*self.way, key))
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add((*self.way, key))
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.seen.add((*self.way, str(key)))
        return super().__contains__(key)


def noting(value: Any, way: Path_, seen: set[Path_]) -> Any:
    return Seen(value, way, seen) if isinstance(value, dict) else value


def a_review(obj: Object, phase: Phase, **fields: Any) -> tuple[Review, Phase]:
    """Return a request of a person."""
    group, kind = obj["apiVersion"].rpartition("/")[0], obj["kind"]
    given = {"operation": "CREATE", "old_object": None, "user": "ada", **fields}
    return Review(
        "u",
        given["operation"],
        group,
        kind,
        "",
        "shop",
        "web",
        obj,
        given["old_object"],
        dry_run=False,
        user=given["user"],
    ), phase


def deployment(spec: Object | None = None, **metadata: Any) -> Object:
    obj = a_workload(name="web", spec=spec, **metadata)
    obj["spec"] |= {"replicas": 3, "strategy": {"type": "RollingUpdate"}}
    return obj


NOWHERE: Final = {"nodeSelector": {"pool": "none"}}
#: Requests of objects that are not let off.
REVIEWS: Final = {
    "a denied Deployment": a_review(deployment(SPREAD), Phase.VALIDATE),
    "an update of one": a_review(
        deployment(SPREAD), Phase.VALIDATE, operation="UPDATE", old_object=deployment()
    ),
    "one with an owner": a_review(
        a_pod(name="web", spec=SPREAD, owner=("apps/v1", "ReplicaSet", "web-1")), Phase.VALIDATE
    ),
    "one of a controller": a_review(a_pod(name="web", spec=SPREAD), Phase.VALIDATE, user=TRUSTED),
    "one that gets constraints": a_review(deployment(), Phase.MUTATE),
    "one that fits nowhere": a_review(deployment(NOWHERE), Phase.VALIDATE),
}


def outcome(review: Review, phase: Phase, context: AdmissionContext) -> str:
    """Return what is not let off: a denial, constraints, or a forecast; empty if all is."""
    found = decide(review, a_review_request(b"", phase), context)
    told = (
        "denied" if found.errors else "",
        "injected" if found.patch else "",
        "foretold" if "unschedulable" in found.rules else "",
    )
    return next(filter(None, told), "")


def context() -> AdmissionContext:
    return a_context(POLICY, cluster=[a_node("n1", "a"), a_node("n2", "b")])


def changed(obj: Object, way: Path_, value: Any) -> Object:
    found: Object = copy.deepcopy(obj)
    part: Any = found
    for name in way[:-1]:
        part = part.setdefault(name, {})
    if value is None:
        part.pop(way[-1], None)
    else:
        part[way[-1]] = value
    return found


def is_read(review: Review, obj: Object) -> bool:
    """Return whether an object is one that an API server takes, as far as is known."""
    kind = kind_of(review.kind, review.group)
    workload = Workload.read(obj, kind, "shop")
    return not (workload.shape_errors or list(workload.controller_errors()) or not workload.template.labels)


def claims(review: Review, phase: Phase) -> Iterator[tuple[str, Review]]:
    """Yield each field of a request that is read, and the request with another value of it."""
    seen: set[Path_] = set()
    obj, old = review.obj or {}, review.old_object
    outcome(review._replace(obj=Seen(obj, (), seen)), phase, context())
    assert len(seen) > 10
    pods = ("spec",) if review.kind == "Pod" else ("spec", "template", "spec")
    for way in sorted(seen | {(*pods, name) for name in OF_PODS}):
        # Of what has parts those are tried; the labels of pods are what selectors are about.
        if way[-1] == "annotations":
            for name, text in product(ANNOTATIONS, TEXTS):
                yield name, review._replace(obj=changed(obj, way, {name: text}))
        elif (
            CONTENT.isdisjoint(way)
            and "labels" not in way[:-1]
            and way not in {each[:-1] for each in seen} - {LABELS}
        ):
            for value in VALUES:
                other = changed(obj, way, value)
                if is_read(review, other):
                    yield way[-1], review._replace(obj=other)
    for field, values in ENVELOPE.items():
        for each in values:
            yield field, review._replace(**{field: each})
    if old is not None:
        yield "old_object", review._replace(old_object=obj)


#: Every field of a request but the object, and what it may be.
ENVELOPE: Final[dict[str, tuple[Any, ...]]] = {
    "uid": ("v",),
    "operation": ("CREATE", "UPDATE", "DELETE", "CONNECT"),
    "group": ("other.io",),
    "kind": ("Other", "Job"),
    "sub_resource": ("scale", "status"),
    "namespace": ("tools", "kube-system", ""),
    "name": ("", "legacy-1"),
    "dry_run": (True,),
    "user": ("", TRUSTED, "system:node:n1", "system:masters", "system:admin"),
    "cut": (("half of it",),),
}
#: What the page says of a field of a request, by the field's name here.
AS_SENT: Final = {
    "sub_resource": "subResource",
    "old_object": "oldObject",
    "user": "userInfo",
    "group": "kind",
}


def found_claims() -> dict[str, set[str]]:
    """Return the fields that let objects off, with what of."""
    found: dict[str, set[str]] = {}
    given = context()
    for review, phase in REVIEWS.values():
        usual = outcome(review, phase, given)
        for name, other in claims(review, phase):
            if outcome(other, phase, given) != usual:
                found.setdefault(AS_SENT.get(name, name), set()).add(usual)
    return found


def test_every_field_of_a_request_is_tried() -> None:
    """A field that requests get is tried as well."""
    assert {*ENVELOPE, "obj", "old_object"} == set(Review._fields)


#: How the page calls what an object is let off from.
WORDS: Final = {"a denial": "denied", "default constraints": "injected", "the forecast": "foretold"}


def test_the_page_lists_what_lets_objects_off() -> None:
    """Every field that lets an object off has a line that says from what, and no line is of another field."""
    text = (ROOT / "docs" / "admission.md").read_text()
    section = text.partition("## What lets an object off\n")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (`.+) \|$", section, re.MULTILINE)]
    listed: dict[str, set[str]] = {}
    for names, off, _ in rows:
        for name in re.findall("`([^`]+)`", names):
            listed.setdefault(name, set()).update(kind for word, kind in WORDS.items() if word in off)

    assert found_claims() == listed


def test_the_page_names_the_rules_of_a_profile() -> None:
    """Which rules ``schedulerName`` withholds is in their modules, and on the page."""
    text = (ROOT / "docs" / "admission.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| `schedulerName`"))

    assert {rule.id for rule in all_rules().values() if rule.needs_profile} == {
        name for name in re.findall(r"`([a-z-]+)`", row) if name in all_rules()
    }
