"""The checks of constraints, against measured verdicts of Kubernetes 1.36.2 and against rubbish."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.fields import MAX_ERRORS, ErrorKind, FieldError, FieldPath
from policies.model.api_rules import ApiRule
from policies.model.constraint import CONSTRAINT_FIELDS, Merge
from policies.model.labels import REQUIREMENT_FIELDS, SELECTOR_FIELDS
from policies.model.validation import MAX_SIZE, constraint_errors, default_constraint_errors, size_of
from policies.model.workload_kinds import KNOWN_KINDS
from tests.builders import a_constraint, kind_of
from tests.examples import examples

DATA = Path(__file__).parents[2] / "data"
PATH = FieldPath(("spec", "topologySpreadConstraints"))
#: How Kubernetes prints the type of an error, by how a Status' cause spells it.
PRINTED = {
    ErrorKind.INVALID: "Invalid value",
    ErrorKind.REQUIRED: "Required value",
    ErrorKind.NOT_SUPPORTED: "Unsupported value",
    ErrorKind.DUPLICATE: "Duplicate value",
    ErrorKind.FORBIDDEN: "Forbidden",
}
#: The text that Evenkeel adds where a workload has an error that the API server finds in its pods.
OF_WORKLOAD = ": Kubernetes 1.34+ rejects every pod of this workload"
LONG_VALUE = re.compile(r'"([^"]{80})[^"]+"')
MERGE_ERROR = re.compile(r"(.*topologySpreadConstraints\[\d+\])\[(\d+)\]")


def vectors(operation: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / "validation.jsonl.gz", "rt") as lines:
        return [case for line in lines if (case := json.loads(line))["op"] == operation]


def printed(errors: list[str]) -> Counter[tuple[str, str]]:
    """Return (path, text) of errors as Kubernetes prints them, with long values cut as Evenkeel does."""
    found: Counter[tuple[str, str]] = Counter()
    for error in errors:
        path, text = LONG_VALUE.sub(r'"\1…"', error).split(": ", 1)
        if merge := MERGE_ERROR.fullmatch(path):
            # Evenkeel reports each key once, and points at it.
            found[f"{merge[1]}.matchLabelKeys[{merge[2]}]", text] = 1
        else:
            found[path, text] += 1
    return found


def reported(errors: list[FieldError]) -> Counter[tuple[str, str]]:
    assert all(error.problem.startswith(PRINTED[error.kind]) for error in errors)
    return Counter((str(error.path), error.problem.removesuffix(OF_WORKLOAD)) for error in errors)


def only_merge_errors_more(errors: list[FieldError], expected: list[str]) -> bool:
    """Tell whether errors are as expected, but for merge conflicts that the API server lets pass."""
    others = [error for error in errors if error.rule != ApiRule.MATCH_LABEL_KEY_IN_SELECTOR]
    wanted = printed(expected)
    return not wanted - reported(errors) and not reported(others) - wanted


def test_pods_agree_with_the_api_server() -> None:
    """All 518 pods get the API server's errors, word by word, before its merge and after."""
    cases = vectors("validate-pod")
    disagreeing = []
    for case in cases:
        pod = case["pod"]
        shapes = [(pod["spec"].get("topologySpreadConstraints"), Merge.BEFORE)]
        if "admittedConstraints" in case:
            shapes.append((case["admittedConstraints"], Merge.CREATED))
        results = [
            constraint_errors(raw, PATH, labels=pod["metadata"].get("labels") or {}, merge=merge)
            for raw, merge in shapes
        ]
        if not all(only_merge_errors_more(errors, case["errors"]) for errors in results):
            disagreeing.append(case["name"])
        if reported(results[0]) != reported(results[-1]):
            disagreeing.append(f"{case['name']}: other errors after the merge")

    assert disagreeing == []
    assert len(cases) == 518


def test_deployments_agree_with_the_api_server() -> None:
    """All 258 Deployments get the API server's errors, word by word, but for what it leaves to their pods."""
    cases = vectors("validate-deployment")
    path = kind_of("Deployment", "apps").constraints_path
    disagreeing = []
    for case in cases:
        template = case["deployment"]["spec"]["template"]
        errors = constraint_errors(
            template["spec"].get("topologySpreadConstraints"),
            path,
            labels=template["metadata"].get("labels") or {},
            of_template=True,
        )
        if not only_merge_errors_more(errors, case["errors"]):
            disagreeing.append(case["name"])

    assert disagreeing == []
    assert len(cases) == 258


def test_scheduler_arguments_agree_with_kube_scheduler() -> None:
    """All 124 PodTopologySpreadArgs get kube-scheduler's errors, word by word."""
    cases = vectors("validate-args")
    disagreeing = [
        case["name"]
        for case in cases
        if reported(default_constraint_errors(case["args"], FieldPath())) != printed(case["errors"])
    ]

    assert disagreeing == []
    assert len(cases) == 124


BY_KIND = json.loads((DATA / "validation-by-kind.json").read_text())


@pytest.mark.parametrize("variant", BY_KIND)
def test_every_kind_agrees_with_the_api_server(variant: str) -> None:
    """Nine kinds of object: what was stored passes, what was refused does not, and paths are the same."""
    case = BY_KIND[variant]
    trap = re.match(r"same key in matchLabelKeys and", variant) is not None
    for kind in KNOWN_KINDS[:9]:
        result = case["results"][kind.kind]
        errors = constraint_errors(
            case["constraints"], kind.constraints_path, labels={"app": "f"}, of_template=not kind.is_pod
        )

        if result["status"] == 422 and not trap:
            listed = result["message"].split(" is invalid: ", 1)[1].strip("[]")
            paths = re.split(r", (?=[a-zA-Z.]+\.spec\.topo|spec\.topo)", listed)
            assert printed(paths) == reported(errors), kind.kind
        else:
            assert bool(errors) == (trap or result["status"] != 201), (kind.kind, errors)


@pytest.mark.parametrize(
    ("constraints", "path", "kind"),
    [
        pytest.param("x", "", ErrorKind.INVALID, id="a string for the list"),
        pytest.param({"maxSkew": 1}, "", ErrorKind.INVALID, id="an object for the list"),
        pytest.param([7], "[0]", ErrorKind.INVALID, id="a number for a constraint"),
        pytest.param([a_constraint(maxSkew="1")], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew '1'"),
        pytest.param([a_constraint(maxSkew=True)], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew true"),
        pytest.param([a_constraint(maxSkew=1.5)], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew 1.5"),
        pytest.param([a_constraint(maxSkew=2**31)], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew 2^31"),
        pytest.param([a_constraint(maxSkew=10**400)], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew 10^400"),
        pytest.param([a_constraint(maxSkew=[])], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew []"),
        pytest.param(
            [a_constraint() | {"maxSkew": None}], "[0].maxSkew", ErrorKind.INVALID, id="maxSkew null"
        ),
        pytest.param([a_constraint(topologyKey=False)], "[0].topologyKey", ErrorKind.INVALID, id="key false"),
        pytest.param([a_constraint(topologyKey=0)], "[0].topologyKey", ErrorKind.INVALID, id="key 0"),
        pytest.param([a_constraint(topologyKey=[])], "[0].topologyKey", ErrorKind.INVALID, id="key []"),
        pytest.param(
            [a_constraint(topologyKey=None)], "[0].topologyKey", ErrorKind.REQUIRED, id="key missing"
        ),
        pytest.param(
            [a_constraint(whenUnsatisfiable=3)], "[0].whenUnsatisfiable", ErrorKind.INVALID, id="action 3"
        ),
        pytest.param(
            [a_constraint(minDomains="2")], "[0].minDomains", ErrorKind.INVALID, id="minDomains '2'"
        ),
        pytest.param(
            [a_constraint(nodeTaintsPolicy=["Honor"])],
            "[0].nodeTaintsPolicy",
            ErrorKind.INVALID,
            id="policy list",
        ),
        pytest.param(
            [a_constraint(labelSelector=[])], "[0].labelSelector", ErrorKind.INVALID, id="selector []"
        ),
        pytest.param(
            [a_constraint(labelSelector={"matchLabels": ["app"]})],
            "[0].labelSelector.matchLabels",
            ErrorKind.INVALID,
            id="matchLabels list",
        ),
        pytest.param(
            [a_constraint(labelSelector={"matchLabels": {"app": 1}})],
            "[0].labelSelector.matchLabels[app]",
            ErrorKind.INVALID,
            id="label value 1",
        ),
        pytest.param(
            [a_constraint(labelSelector={"matchExpressions": {"key": "app"}})],
            "[0].labelSelector.matchExpressions",
            ErrorKind.INVALID,
            id="matchExpressions object",
        ),
        pytest.param(
            [
                a_constraint(
                    labelSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": "x"}]}
                )
            ],
            "[0].labelSelector.matchExpressions[0].values",
            ErrorKind.INVALID,
            id="values string",
        ),
        pytest.param(
            [a_constraint(matchLabelKeys={"a": 1})], "[0].matchLabelKeys", ErrorKind.INVALID, id="keys object"
        ),
        pytest.param(
            [a_constraint(matchLabelKeys=[{}])], "[0].matchLabelKeys[0]", ErrorKind.INVALID, id="key object"
        ),
        pytest.param([a_constraint(maxSkews=2)], "[0].maxSkews", ErrorKind.INVALID, id="unknown field"),
    ],
)
def test_wrong_types_are_errors(constraints: object, path: str, kind: ErrorKind) -> None:
    """A value of the wrong type is one error at its path, never an exception."""
    errors = constraint_errors(constraints, PATH, labels={})

    assert [(f"{PATH}{path}", kind)] == [(str(error.path), error.kind) for error in errors]


@pytest.mark.parametrize("absent", ["labelSelector", "minDomains", "nodeAffinityPolicy", "matchLabelKeys"])
def test_null_is_absent(absent: str) -> None:
    """An optional field that is null is as good as left out, as Go decodes it."""
    assert constraint_errors([a_constraint() | {absent: None}], PATH, labels={}) == []


def test_unknown_fields_pass_on_newer_releases() -> None:
    """A release newer than the rules may have brought the field, so it is let through."""
    assert constraint_errors([a_constraint(brandNew=1)], PATH, labels={}, strict=False) == []


def test_a_list_that_is_too_large_is_not_checked() -> None:
    """A million mistakes cost no more than telling that they are too many; the largest list is checked."""
    too_large = constraint_errors([{}] * 1_000_000, PATH, labels={})
    values = {"key": "app", "operator": "In", "values": [""] * (MAX_SIZE - 10)}
    largest = [a_constraint(labelSelector={"matchExpressions": [values]})]

    assert [("too-large-to-check", "FieldValueTooMany")] == [(error.rule, error.kind) for error in too_large]
    assert MAX_SIZE == size_of(largest, MAX_SIZE)
    assert [] == constraint_errors(largest, PATH, labels={})


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        pytest.param({f"f{n}": 1 for n in range(MAX_ERRORS + 9)}, "unknown-field", id="265 unknown fields"),
        pytest.param(
            {"labelSelector": {"matchLabels": {f"-{n}": "" for n in range(MAX_ERRORS + 9)}}},
            "label-selector-invalid",
            id="265 labels",
        ),
        pytest.param(
            {
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["-"] * (MAX_ERRORS + 9)},
                    ]
                }
            },
            "label-selector-invalid",
            id="265 values",
        ),
        pytest.param({"matchLabelKeys": ["-"] * (MAX_ERRORS + 9)}, "match-label-key-invalid", id="265 keys"),
        pytest.param(
            {
                "labelSelector": {"matchLabels": {f"k{n}": "" for n in range(MAX_ERRORS + 9)}},
                "matchLabelKeys": [f"k{n}" for n in range(MAX_ERRORS + 9)],
            },
            "match-label-key-in-selector",
            id="265 keys in both",
        ),
    ],
)
def test_many_mistakes_of_one_rule_hide_none_of_another(constraint: dict[str, Any], rule: str) -> None:
    """Errors are collected up to a number for each rule, in whatever order they come."""
    entries = [a_constraint(**constraint), a_constraint(maxSkew=0, topologyKey="other")]
    errors = Counter(error.rule for error in constraint_errors([*entries, 7], PATH, labels={}))

    assert {rule: MAX_ERRORS, "max-skew-not-positive": 1, "wrong-type": 1} == errors


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["Honor", "In"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [*CONSTRAINT_FIELDS, *SELECTOR_FIELDS, *REQUIREMENT_FIELDS, "defaultConstraints", "app"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@examples(300)
@given(raw=json_values, merge=st.sampled_from(Merge))
def test_any_json_is_judged(raw: object, merge: Merge) -> None:
    """Any JSON value gives a list of errors that can be printed on one line each."""
    for errors in (
        constraint_errors(raw, PATH, labels={"app": "web"}, merge=merge),
        default_constraint_errors(raw, PATH),
    ):
        for error in errors:
            assert "\n" not in str(error)
