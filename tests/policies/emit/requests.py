"""Requests for admission, with what Evenkeel's own webhook makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from policies.admission.decision import Decision
from policies.config.context import AdmissionContext
from policies.config.spread_policy import SpreadPolicy
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from tests.builders import a_pod, a_workload
from tests.webhook.reviewing import a_review_request
from webhook.admission.respond import decide
from webhook.admission.review import Phase, Review

KEYS = ("app", "tier", "version", "pod-template-hash", "example.com/part", "Not a key", "")
VALUES = ("web", "api", "v1", "", "not a value", "a" * 64)
TOPOLOGY_KEYS = (
    "topology.kubernetes.io/zone", "kubernetes.io/hostname", "zone", "failure-domain.beta.kubernetes.io/zone",
    "example.com/rack", "",
)  # fmt: skip

_LABELS = st.dictionaries(st.sampled_from(KEYS[:5]), st.sampled_from(VALUES[:4]), max_size=3)
_REQUIREMENTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from((*KEYS, "controller-revision-hash", "apps.kubernetes.io/pod-index")),
        "operator": st.sampled_from(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "")),
    },
    optional={"values": st.lists(st.sampled_from(VALUES), max_size=3)},
)
_SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2) | _LABELS,
        "matchExpressions": st.lists(_REQUIREMENTS, max_size=2),
    },
)
#: Entries as people write them, with the mistakes that people make. No list is null: cel-python iterates over
#: it though the expression looks first whether it is one.
CONSTRAINTS = st.fixed_dictionaries(
    {
        "maxSkew": st.sampled_from((1, 1, 1, 2, 0, -1)),
        "topologyKey": st.sampled_from(TOPOLOGY_KEYS),
        "whenUnsatisfiable": st.sampled_from(
            ("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway", "Never", "")
        ),
    },
    optional={
        "labelSelector": st.just({"matchLabels": {"app": "web"}}) | _SELECTORS | st.none(),
        "minDomains": st.sampled_from((1, 2, 3, 0, None)),
        "nodeAffinityPolicy": st.sampled_from(("Honor", "Ignore", "honor", None)),
        "nodeTaintsPolicy": st.sampled_from(("Honor", "Ignore", "", None)),
        "matchLabelKeys": st.lists(st.sampled_from(KEYS), max_size=3),
    },
)
#: Argo Rollouts are left out: of those, labels that the template lacks are not compared.
KINDS = [kind for kind in KNOWN_KINDS if not kind.is_pod and kind.kind != "Rollout"]


def _object(kind: WorkloadKind, entries: Any, labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = {} if entries is None else {"topologySpreadConstraints": entries}
    workload = a_workload(kind.kind, kind.group, labels=labels or {"app": "web"}, spec=pod)
    if not kind.is_pod:
        workload.setdefault("spec", {}).update(spec)
    return workload


def _objects(kinds: st.SearchStrategy[WorkloadKind]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        _object,
        kinds,
        st.lists(CONSTRAINTS, max_size=3) | st.none(),
        _LABELS,
        st.fixed_dictionaries(
            {},
            optional={"replicas": st.sampled_from((0, 1, 2, 5)), "completionMode": st.just("Indexed"),
                      "completions": st.just(4), "manualSelector": st.booleans()},
        ),
    )  # fmt: skip


OBJECTS = _objects(st.sampled_from(KINDS))
PODS = st.builds(
    lambda entries, labels: a_pod(labels=labels, spec={"topologySpreadConstraints": entries}),
    st.lists(CONSTRAINTS, max_size=3),
    _LABELS,
)


def a_request(obj: dict[str, Any], old: dict[str, Any] | None = None, *, user: str = "ada") -> dict[str, Any]:
    """Return the request of an AdmissionReview for an object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    metadata = obj["metadata"]
    if obj["kind"] == "Pod" and old is None:
        # The API server stamps it on what is created before it asks anyone.
        obj = {**obj, "metadata": {**metadata, "uid": "8917c5a7"}}
    return {
        "uid": "1",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "userInfo": {"username": user},
        "object": obj,
        "oldObject": old,
    }


@st.composite
def updates(draw: st.DrawFn) -> dict[str, Any]:
    """Draw requests that change the constraints of a workload."""
    objects = _objects(st.just(draw(st.sampled_from(KINDS))))
    return a_request(draw(objects), draw(objects))


def decided(request: Mapping[str, Any], policies: Sequence[SpreadPolicy], phase: Phase) -> Decision:
    """Return the webhook's decision on a request, without a cluster."""
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    review = Review.parse(json.dumps(body).encode())
    return decide(review, a_review_request(b"", phase), AdmissionContext(policies=tuple(policies)))
