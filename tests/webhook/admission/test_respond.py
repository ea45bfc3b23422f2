"""Answers to reviews: to all that a real API server sent, and to hostile ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import JsonPatch

from policies.admission.decision import MAX_WARNING_LENGTH, MAX_WARNINGS, AdmissionVerdict
from policies.config.context import AdmissionContext
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_kinds import KNOWN_KINDS
from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.examples import examples
from tests.for_each import for_each
from tests.planning.clusters import two_full_zones
from tests.policies.config.contexts import HOST, ZONE, a_context, defaults
from tests.recorded import phase_of, recorded_reviews
from tests.webhook.reviewing import a_review_request, answered
from webhook.admission.reply import AUDIT_LENGTH, Reply, log_fields
from webhook.admission.respond import RefusedReview, respond
from webhook.admission.review import Phase
from webhook.registration import PROBE_ANNOTATION, probe_answer

RECORDED = sorted(recorded_reviews())
INJECTING = a_context(
    a_policy(defaults=defaults("both")),
    cluster=[
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"selector": {"app": name}},
        }
        for name in ("plain", "solo")
    ],
)


def review(
    obj: object, *, operation: str = "CREATE", old: object = None, kind: Any = None, **request: Any
) -> bytes:
    """Return the body of a review of an object."""
    fields = obj if isinstance(obj, dict) else {}
    group, _, version = str(fields.get("apiVersion", "v1")).rpartition("/")
    return orjson.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "0b1c",
                "kind": kind or {"group": group, "version": version, "kind": fields.get("kind", "Pod")},
                "namespace": "shop",
                "operation": operation,
                "object": obj,
                "oldObject": old,
                **request,
            },
        }
    )


def response(reply: Reply) -> dict[str, Any]:
    answer = json.loads(reply.body)
    assert ("admission.k8s.io/v1", "AdmissionReview") == (answer["apiVersion"], answer["kind"])
    return answer["response"]  # type: ignore[no-any-return]


def patch_of(answer: dict[str, Any]) -> JsonPatch:
    assert "JSONPatch" == answer["patchType"]
    return JsonPatch(json.loads(base64.b64decode(answer["patch"])))


#: The settings of a rule that denies nothing.
WARN = {"enforcement": "warn"}
#: The recorded requests with a likely mistake, and the rules that warn of it.
MISTAKEN = {
    "deployment-dryrun.validate.CREATE-deployments": ("revision-key-missing",),
    "pod-selector-variants.validate.CREATE-pods": ("selector-missing", "selector-empty"),
}


@for_each(RECORDED)
def test_recorded_reviews_are_allowed_as_they_are(name: str) -> None:
    """With the checks alone, all that a real cluster did is allowed, unchanged, under the review's uid."""
    body = recorded_reviews()[name]
    reply = answered(body, phase_of(name), a_context(a_policy(rules={"selector-missing": WARN})))
    answer = response(reply)

    assert MISTAKEN.get(name, ()) == reply.decision.rules
    told = {key: answer.pop(key) for key in ("warnings", "auditAnnotations") if key in answer}
    assert {"uid": json.loads(body)["request"]["uid"], "allowed": True} == answer
    assert (name in MISTAKEN) == bool(told)
    checked_inputs = "CREATE" in name or (phase_of(name) is Phase.VALIDATE and "UPDATE" in name)
    subresource = json.loads(body)["request"].get("subResource")
    assert (reply.decision.verdict is not AdmissionVerdict.IGNORED) == (checked_inputs and not subresource)


#: The new recorded requests without constraints, which a policy with defaults changes.
INJECTED = {"deployment-plain.mutate.CREATE-deployments", "deployment-plain.mutate.CREATE-pods"}


@for_each(RECORDED)
def test_recorded_reviews_under_a_policy_with_defaults(name: str) -> None:
    """Only new objects with a selector and no constraints are changed; the patch applies and marks them."""
    body = recorded_reviews()[name]
    answer = response(answered(body, phase_of(name), INJECTING))

    assert answer["allowed"] or name in MISTAKEN
    assert (name in INJECTED) == ("patch" in answer)
    if name in INJECTED:
        obj = json.loads(body)["request"]["object"]
        patched = patch_of(answer).apply(obj)
        spec = patched["spec"]["template"]["spec"] if obj["kind"] == "Deployment" else patched["spec"]
        assert [ZONE["topologyKey"], HOST["topologyKey"]] == [
            constraint["topologyKey"] for constraint in spec["topologySpreadConstraints"]
        ]
        assert "production" == patched["metadata"]["annotations"]["evenkeel.dev/injected-by"]


def test_a_rule_of_the_linter_is_named() -> None:
    """The API server has no cause type for it, so the rule's id stands there, and in what a person reads."""
    body = review(
        a_workload(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]}), name="web"
    )
    reply = answered(body, Phase.VALIDATE, a_context())
    status = response(reply)["status"]
    field = "spec.template.spec.topologySpreadConstraints[0].labelSelector"

    assert [("selector-missing", field)] == [
        (cause["reason"], cause["field"]) for cause in status["details"]["causes"]
    ]
    first, second = status["message"].splitlines()
    assert "Deployment.apps shop/web breaks 1 rule:" == first
    assert second.startswith(f"selector-missing: {field}: is missing")
    assert ("selector-missing",) == reply.decision.rules


def test_a_denial_says_everything() -> None:
    """A denial is 403 Forbidden, one line an error for people and one cause an error for programs."""
    constraints = [a_constraint(maxSkew=0, whenUnsatisfiable="Maybe"), a_constraint(topologyKey="")]
    body = review(a_workload(spec={"topologySpreadConstraints": constraints}), name="web")
    reply = answered(body, Phase.VALIDATE, a_context())
    answer = response(reply)
    at = "spec.template.spec.topologySpreadConstraints"

    assert not answer["allowed"]
    assert (403, "Forbidden") == (answer["status"]["code"], answer["status"]["reason"])
    assert ("Deployment", "web") == (answer["status"]["details"]["kind"], answer["status"]["details"]["name"])
    assert [
        (f"{at}[0].maxSkew", "FieldValueInvalid"),
        (f"{at}[0].whenUnsatisfiable", "FieldValueNotSupported"),
        (f"{at}[1].topologyKey", "FieldValueRequired"),
    ] == [(cause["field"], cause["reason"]) for cause in answer["status"]["details"]["causes"]]
    rules = ("max-skew-not-positive", "when-unsatisfiable-unknown", "topology-key-missing")
    assert answer["status"]["message"].splitlines() == [
        "Deployment.apps shop/web breaks 3 rules:",
        *(
            f"{rule}: {cause['field']}: {cause['message']}"
            for rule, cause in zip(rules, answer["status"]["details"]["causes"], strict=True)
        ),
    ]
    fields = log_fields(reply, Phase.VALIDATE, 0.0)
    assert AdmissionVerdict.DENIED is reply.decision.verdict
    assert ("Deployment.apps", "web") == (fields["kind"], fields["name"])


@pytest.mark.parametrize(
    ("constraint", "rules", "last"),
    [
        pytest.param(
            {f"f{n}": 1 for n in range(150)},
            {"unknown-field"},
            "52 more errors are not listed.",
            id="152 errors",
        ),
        pytest.param(
            {f"f{n}": 1 for n in range(300)},
            {"unknown-field", "selector-missing", "selector-names-revision-label"},
            "At least 160 more errors are not listed.",
            id="more than 256 of a rule",
        ),
        pytest.param({"topologyKey": "k" * 100_000, "labelSelector": None}, set(), "", id="a long key"),
    ],
)
def test_a_denial_of_many_errors_is_short(constraint: dict[str, Any], rules: set[str], last: str) -> None:
    """It tells one of each rule first, and how many more there are; what it repeats is short."""
    obj = a_workload(
        spec={"topologySpreadConstraints": [a_constraint(**constraint), a_constraint(maxSkew=0)]}
    )
    answer = response(answered(review(obj), Phase.VALIDATE, a_context(a_policy())))
    status = answer["status"]

    assert len(status["message"]) < 40_000
    assert {"maxSkew" in cause["field"] for cause in status["details"]["causes"]} >= {True}
    assert all(f"{rule}:" in status["message"] or "is no field" in status["message"] for rule in rules)
    assert status["message"].endswith(last)
    assert max(map(len, answer["auditAnnotations"].values())) <= AUDIT_LENGTH


@pytest.mark.parametrize(
    ("name", "namespace", "headline"),
    [
        pytest.param("web", "shop", "Deployment.apps shop/web breaks 1 rule:", id="a name"),
        pytest.param("", "shop", "Deployment.apps shop/web- breaks 1 rule:", id="a generateName"),
        pytest.param("web", "", "Deployment.apps web breaks 1 rule:", id="no namespace"),
        pytest.param(
            "a\nforged: line",
            "shop",
            'Deployment.apps "shop/a\\nforged: line" breaks 1 rule:',
            id="a line end",
        ),
    ],
)
def test_a_denial_names_the_object(name: str, namespace: str, headline: str) -> None:
    """Of a List, kubectl names the file alone."""
    obj = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    obj["metadata"] = {"generateName": "web-"}
    reply = answered(review(obj, name=name, namespace=namespace), Phase.VALIDATE, a_context())

    assert headline == response(reply)["status"]["message"].splitlines()[0]


def test_mutation_never_refuses() -> None:
    """The mutating webhook leaves an invalid object as it is: refusing is the validating one's."""
    body = review(a_workload(spec={"topologySpreadConstraints": [{"maxSkew": 0}]}))

    assert {"uid": "0b1c", "allowed": True} == response(answered(body, Phase.MUTATE, INJECTING))


@pytest.mark.parametrize(
    "request_fields",
    [
        pytest.param({"operation": "UPDATE"}, id="UPDATE: an injected template would cause a rollout"),
        pytest.param({"operation": "DELETE", "obj": None, "old": a_workload()}, id="DELETE"),
        pytest.param({"operation": "CONNECT"}, id="CONNECT"),
        pytest.param({"subResource": "status"}, id="status"),
        pytest.param(
            {"kind": {"group": "apps", "version": "v1", "kind": "ControllerRevision"}}, id="other kind"
        ),
        pytest.param({"kind": {"group": "x.io", "version": "v1", "kind": "Deployment"}}, id="other group"),
    ],
)
def test_what_is_never_injected(request_fields: dict[str, Any]) -> None:
    """Only new objects of kinds with pods are changed."""
    obj = request_fields.pop("obj", a_workload())
    reply = answered(review(obj, **request_fields), Phase.MUTATE, INJECTING)

    assert (AdmissionVerdict.IGNORED, False) == (reply.decision.verdict, "patch" in response(reply))


def test_dry_run_answers_alike() -> None:
    """A dry run gets the same answer, for there is nothing that a review leaves behind."""
    dry, real = (answered(review(a_workload(), dryRun=dry), Phase.MUTATE, INJECTING) for dry in (True, False))

    assert dry.body == real.body
    assert (True, False) == (dry.review.dry_run, real.review.dry_run)


@pytest.mark.parametrize("phase", Phase)
def test_a_probe_is_answered(phase: Phase) -> None:
    """Who tries whether the webhooks are asked reads which were; what would be stored is no probe."""
    probe = a_workload(annotations={PROBE_ANNOTATION: ""})
    dry, real = (answered(review(probe, dryRun=dry), phase, INJECTING) for dry in (True, False))
    told, silent = (response(reply).get("warnings", []) for reply in (dry, real))

    assert [probe_answer(f"/{phase}"), *silent] == told


@pytest.mark.parametrize(
    ("annotations", "count"),
    [
        pytest.param({}, MAX_WARNINGS, id="3, without warnings of /mutate"),
        pytest.param({INJECTED_ANNOTATION: "p"}, MAX_WARNINGS - 1, id="2, after one of /mutate"),
    ],
)
def test_warnings_are_few_short_and_plain(annotations: dict[str, str], count: int) -> None:
    """At most three of 256 characters, and without control characters."""
    context = a_context(a_policy(enforcement="warn"))
    key = "a\nb\u0085\x7f" * 60
    constraints = [a_constraint(labelSelector={"matchLabels": {f"{key}{number}": ""}}) for number in range(9)]
    workload = a_workload(spec={"topologySpreadConstraints": constraints}, annotations=annotations)
    reply = answered(review(workload), Phase.VALIDATE, context)
    warnings = response(reply)["warnings"]

    assert count == len(warnings)
    assert all(len(warning) <= MAX_WARNING_LENGTH and warning.isprintable() for warning in warnings)
    assert all(warning.startswith("evenkeel: ") for warning in warnings)
    assert 0 < len(response(reply)["auditAnnotations"]["violations"]) <= AUDIT_LENGTH


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("\x1b[31mred\x7f\x85", id="terminal"),
        pytest.param("\u202eredro\u2066", id="bidi"),
        pytest.param("a\u2028b", id="line separator"),
        pytest.param("\x1b" * 200, id="200 escapes"),
    ],
)
def test_audit_annotations_can_be_printed(reason: str) -> None:
    """A user's text cannot control the terminal of those who read the audit log; lines stay lines."""
    ignored = {"evenkeel.dev/ignore": f"max-skew-not-positive: {reason}"}
    workload = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}, annotations=ignored)
    audit = response(answered(review(workload), Phase.VALIDATE, a_context()))["auditAnnotations"]

    assert any("max-skew-not-positive" in text for text in audit.values())
    assert all(text.replace("\n", "").isprintable() for text in audit.values())
    assert all(len(text) <= AUDIT_LENGTH for text in audit.values())


def test_a_forecast_is_a_warning_and_an_annotation(wording: Callable[[str], str]) -> None:
    """A workload whose next pod fits nowhere is allowed, with a warning that the API server passes on."""
    body = review(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}))
    reply = answered(body, Phase.VALIDATE, FORESEEING)
    answer = response(reply)

    assert answer["allowed"]
    [warning] = answer["warnings"]
    assert warning == wording(warning)
    assert {"unschedulable"} == answer["auditAnnotations"].keys()
    assert (0.0, None) == (reply.budget.forecast_s, reply.forecast_skipped)


@for_each(RECORDED)
def test_forecasts_of_recorded_reviews(name: str) -> None:
    """Only objects that a user creates, or changes so that pods are made, are evaluated; all are allowed."""
    reply = answered(recorded_reviews()[name], phase_of(name), FORESEEING)
    answer = response(reply)
    request = json.loads(recorded_reviews()[name])["request"]

    assert answer["allowed"]
    if reply.budget.forecast_s is not None:
        assert phase_of(name) is Phase.VALIDATE
        assert "ownerReferences" not in request["object"]["metadata"]
        assert request["operation"] == "CREATE" or request["object"]["spec"] != request["oldObject"]["spec"]


def test_generated_names_are_told() -> None:
    """A pod that has no name yet is named by what its name will be made from."""
    pod = a_pod()
    pod["metadata"] = {"generateName": "web-", "labels": {}}

    reply = answered(review(pod), Phase.VALIDATE, a_context())
    assert "web-" == log_fields(reply, Phase.VALIDATE, 0.0)["name"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def broken_reviews(draw: st.DrawFn) -> bytes:
    """Draw a real review in which one to three values anywhere were replaced by any JSON."""
    kind = draw(st.sampled_from(KNOWN_KINDS))
    spec = (
        {"topologySpreadConstraints": [a_constraint(matchLabelKeys=["rev"])]} if draw(st.booleans()) else {}
    )
    owner = ("apps/v1", "ReplicaSet", "web-1") if draw(st.booleans()) else None
    obj = a_pod(spec=spec, owner=owner) if kind.is_pod else a_workload(kind.kind, kind.group, spec=spec)
    old = obj if draw(st.booleans()) else None
    document = json.loads(review(obj, old=old, operation=draw(st.sampled_from(["CREATE", "UPDATE"]))))
    for _ in range(draw(st.integers(1, 3))):
        _break(document, draw)
    return orjson.dumps(document)


def _break(node: Any, draw: st.DrawFn) -> None:
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or draw(st.integers(0, 4)) == 0:
            node[key] = draw(json_values)
            return
        node = node[key]


#: A cluster with nodes, so that the next pod of what is valid enough is judged too.
FORESEEING = a_context(a_policy(enforcement="warn", defaults=defaults("both")), cluster=two_full_zones())


@examples(400)
@given(body=broken_reviews(), phase=st.sampled_from(Phase), context=st.sampled_from([INJECTING, FORESEEING]))
def test_wrong_types_at_every_level_get_an_answer(
    body: bytes, phase: Phase, context: AdmissionContext
) -> None:
    """For any value anywhere in a review, the answer is a valid one or HTTP 400, and patches apply."""
    reply = respond(a_review_request(body, phase), context)
    if isinstance(reply, RefusedReview):
        assert HTTPStatus.BAD_REQUEST is reply.status
        return
    assert isinstance(reply, Reply)
    answer = response(reply)

    assert answer["allowed"] or answer["status"]["message"]
    if "patch" in answer:
        patch_of(answer).apply(json.loads(body)["request"]["object"])


@examples(200)
@given(body=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_bodies_that_are_no_reviews(body: bytes) -> None:
    """Random bytes and random JSON are refused as no AdmissionReview."""
    refused = respond(a_review_request(body, Phase.VALIDATE), a_context())

    assert isinstance(refused, RefusedReview)
    assert HTTPStatus.BAD_REQUEST is refused.status


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(
            a_pod(labels={f"k{number}": "v" * 20 for number in range(90_000)}), id="3 MiB of labels"
        ),
        pytest.param(
            a_pod(labels=dict.fromkeys(map(str, range(190_000)), 1)), id="190,000 labels of a wrong type"
        ),
        pytest.param(a_pod(spec={"topologySpreadConstraints": [{}] * 90_000}), id="90,000 empty constraints"),
        pytest.param(
            a_pod(
                spec={
                    "topologySpreadConstraints": [
                        a_constraint(
                            labelSelector={"matchExpressions": [{}] * 60_000}, matchLabelKeys=["x"] * 60_000
                        )
                    ]
                }
            ),
            id="60,000 empty expressions",
        ),
        pytest.param(
            a_pod(annotations={"evenkeel.dev/ignore": "x\n" * 1_400_000}), id="1,400,000 exemptions"
        ),
        pytest.param(a_pod(ownerReferences=[{"controller": True}] * 90_000), id="90,000 owners"),
        pytest.param(a_pod(spec={"topologySpreadConstraints": [{}] * 900_000}), id="900,000 constraints"),
    ],
)
@pytest.mark.parametrize("phase", Phase)
def test_hostile_sizes_get_a_small_answer(hostile: dict[str, Any], phase: Phase) -> None:
    """Megabytes of mistakes are answered in kilobytes."""
    assert len(answered(review(hostile), phase, INJECTING).body) < 200_000


def test_contexts_are_not_changed() -> None:
    """A review leaves nothing behind: the same body gets the same answer after any other."""
    body = review(a_workload())
    first = answered(body, Phase.MUTATE, INJECTING).body
    answered(review(a_workload("StatefulSet")), Phase.MUTATE, INJECTING)

    assert first == answered(body, Phase.MUTATE, INJECTING).body
    assert isinstance(INJECTING, AdmissionContext)


def test_a_policy_with_errors(golden: Callable[[str, str], str]) -> None:
    """kubectl prints every error with its field."""
    broken = a_policy("broken", enforcement="x", scope={"namespaces": ["UPPER"]}, rules={"Bad": {}})
    reply = answered(review(broken, namespace=""), Phase.VALIDATE, INJECTING)
    status, fields = response(reply)["status"], log_fields(reply, Phase.VALIDATE, 0.0)

    assert AdmissionVerdict.DENIED is reply.decision.verdict
    assert ("SpreadPolicy.evenkeel.dev", "broken") == (fields["kind"], fields["name"])
    assert 3 == len(status["details"]["causes"])
    assert golden("policy_denied.txt", status["message"] + "\n") == status["message"] + "\n"


@pytest.mark.parametrize(
    ("request_fields", "phase"),
    [
        ({"operation": "DELETE"}, Phase.VALIDATE),
        ({"subResource": "status", "operation": "UPDATE"}, Phase.VALIDATE),
        ({}, Phase.MUTATE),
    ],
    ids=["a deletion", "its status", "the mutating webhook"],
)
def test_what_is_not_reviewed_of_a_policy(request_fields: dict[str, Any], phase: Phase) -> None:
    """Nobody is kept from deleting one."""
    reply = answered(review(a_policy(enforcement="x"), **request_fields), phase, INJECTING)

    assert AdmissionVerdict.IGNORED is reply.decision.verdict
