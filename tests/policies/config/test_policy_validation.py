"""The errors of a SpreadPolicy document."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.generator.published import document_schemas
from policies.config.loader import build
from policies.config.policy_validation import policy_errors
from policies.config.spread_policy import SpreadPolicyDocument
from policies.manifests.fields import ErrorKind
from tests.builders import a_policy
from tests.policies.config.documents import HARD, SOFT

VALIDATOR = jsonschema.Draft202012Validator(document_schemas()[SpreadPolicyDocument])

CONSTRAINTS = "spec.defaults.constraints"


def found(value: object) -> list[tuple[str, ErrorKind]]:
    return sorted((str(error.path), error.kind) for error in policy_errors(value))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"enforcement": "warn"}, id="enforcement"),
        pytest.param({"scope": {}}, id="an empty scope"),
        pytest.param({"scope": {"namespaceSelector": {}, "objectSelector": {}}}, id="empty selectors"),
        pytest.param({"scope": {"namespaces": ["team-*", "*"], "excludeNamespaces": ["x"]}}, id="namespaces"),
        pytest.param({"defaults": {"constraints": [SOFT, HARD]}}, id="a soft and a hard default"),
        pytest.param({"defaults": {"constraints": [HARD | {"minDomains": 2}]}}, id="minDomains"),
        pytest.param(
            {
                "defaults": {
                    "constraints": [SOFT | {"nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Ignore"}]
                }
            },
            id="inclusion policies",
        ),
        pytest.param({"defaults": {"source": "scheduler", "at": "both"}}, id="from the scheduler"),
        pytest.param(
            {"defaults": {"source": "scheduler", "constraints": []}}, id="from the scheduler, empty list"
        ),
        pytest.param({"rules": {"a-rule": {"severity": "note", "params": {"x": [1]}}}}, id="rules"),
        pytest.param({"topology": {"domains": {"topology.kubernetes.io/zone": ["a", ""]}}}, id="topology"),
        pytest.param({"annotationExemptions": "allowed"}, id="annotations may exempt"),
        pytest.param({"rules": {"a-rule": {"annotationExemptions": "denied"}}}, id="not from one rule"),
        pytest.param({"exceptions": [{"rules": ["a-rule"], "reason": "why"}]}, id="an exception"),
        pytest.param(
            {
                "exceptions": [
                    {
                        "rules": ["a-rule", "b"],
                        "namespaces": ["team-*"],
                        "kinds": ["Deployment"],
                        "names": ["web.v1-*", "*"],
                        "reason": "why",
                        "until": "2028-02-29",
                    }
                ]
            },
            id="an exception with all fields",
        ),
    ],
)
def test_valid(spec: dict[str, Any]) -> None:
    """Everything that the document may say passes."""
    assert [] == found(a_policy(**spec))


@pytest.mark.parametrize(
    ("spec", "path", "kind"),
    [
        pytest.param({"enforcement": "enforce"}, "spec.enforcement", ErrorKind.NOT_SUPPORTED, id="enforce"),
        *(
            pytest.param(
                {"exceptions": [{"rules": ["a-rule"], "reason": "why"} | fields]},
                f"spec.exceptions[0].{path}",
                kind,
                id=f"an exception with {fields}",
            )
            for fields, path, kind in (
                ({"rules": []}, "rules", ErrorKind.REQUIRED),
                ({"rules": ["A b"]}, "rules[0]", ErrorKind.INVALID),
                ({"reason": ""}, "reason", ErrorKind.REQUIRED),
                ({"reason": None}, "reason", ErrorKind.INVALID),
                ({"names": ["Web"]}, "names[0]", ErrorKind.INVALID),
                ({"until": "2027-02-29"}, "until", ErrorKind.INVALID),
                ({"until": "20270228"}, "until", ErrorKind.INVALID),
                ({"until": 2027}, "until", ErrorKind.INVALID),
                ({"who": "me"}, "who", ErrorKind.INVALID),
            )
        ),
        pytest.param(
            {"exceptions": [{"rules": ["a"]}]},
            "spec.exceptions[0].reason",
            ErrorKind.REQUIRED,
            id="no reason",
        ),
        pytest.param(
            {"annotationExemptions": True}, "spec.annotationExemptions", ErrorKind.NOT_SUPPORTED, id="true"
        ),
        pytest.param({"enforcement": 3}, "spec.enforcement", ErrorKind.NOT_SUPPORTED, id="enforcement 3"),
        pytest.param({"scope": None}, "spec.scope", ErrorKind.INVALID, id="null"),
        pytest.param(
            {"scope": {"kinds": ["deployment"]}}, "spec.scope.kinds[0]", ErrorKind.INVALID, id="a kind"
        ),
        pytest.param(
            {"scope": {"namespaces": ["a b"]}}, "spec.scope.namespaces[0]", ErrorKind.INVALID, id="a space"
        ),
        pytest.param(
            {"scope": {"namespaces": ["ok", "x\n"]}},
            "spec.scope.namespaces[1]",
            ErrorKind.INVALID,
            id="a line break",
        ),
        pytest.param(
            {"scope": {"objectSelector": {"matchLabels": {"a b": "x"}}}},
            "spec.scope.objectSelector.matchLabels",
            ErrorKind.INVALID,
            id="a label key",
        ),
        pytest.param(
            {"scope": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "in"}]}}},
            "spec.scope.namespaceSelector.matchExpressions[0].operator",
            ErrorKind.INVALID,
            id="an operator: told once, by the model",
        ),
        pytest.param({"scop": {}}, "spec.scop", ErrorKind.INVALID, id="an unknown field"),
        pytest.param({"defaults": {}}, CONSTRAINTS, ErrorKind.REQUIRED, id="no constraints"),
        pytest.param(
            {"defaults": {"constraints": []}}, CONSTRAINTS, ErrorKind.REQUIRED, id="empty constraints"
        ),
        pytest.param(
            {"defaults": {"constraints": None}}, CONSTRAINTS, ErrorKind.INVALID, id="null constraints"
        ),
        pytest.param(
            {"defaults": {"constraints": {}}}, CONSTRAINTS, ErrorKind.INVALID, id="constraints: a mapping"
        ),
        pytest.param(
            {"defaults": {"source": "scheduler", "constraints": [SOFT]}},
            CONSTRAINTS,
            ErrorKind.FORBIDDEN,
            id="constraints with source scheduler",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"labelSelector": {}}]}},
            f"{CONSTRAINTS}[0].labelSelector",
            ErrorKind.FORBIDDEN,
            id="a labelSelector",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"labelSelector": {"matchLabels": 3}, "maxSkew": 2}]}},
            f"{CONSTRAINTS}[0].labelSelector",
            ErrorKind.FORBIDDEN,
            id="a broken labelSelector: told once",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"matchLabelKeys": ["a"]}]}},
            f"{CONSTRAINTS}[0].matchLabelKeys",
            ErrorKind.FORBIDDEN,
            id="matchLabelKeys",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"maxSkew": 0}]}},
            f"{CONSTRAINTS}[0].maxSkew",
            ErrorKind.INVALID,
            id="maxSkew 0: told once",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"topologyKey": "a key"}]}},
            f"{CONSTRAINTS}[0].topologyKey",
            ErrorKind.INVALID,
            id="a topology key that no node can have",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"minDomains": 2}]}},
            f"{CONSTRAINTS}[0].minDomains",
            ErrorKind.INVALID,
            id="minDomains on a soft one",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"minDomains": None}]}},
            f"{CONSTRAINTS}[0].minDomains",
            ErrorKind.INVALID,
            id="a null that the API server would take",
        ),
        pytest.param(
            {"defaults": {"constraints": [SOFT | {"minDomain": 2}]}},
            f"{CONSTRAINTS}[0].minDomain",
            ErrorKind.INVALID,
            id="an unknown field of a constraint",
        ),
        pytest.param({"rules": {"A": {}}}, "spec.rules[A]", ErrorKind.INVALID, id="a rule id"),
        pytest.param(
            {"topology": {"domains": {"zone": ["a b"]}}},
            "spec.topology.domains[zone][0]",
            ErrorKind.INVALID,
            id="a value that no node can have",
        ),
    ],
)
def test_one_error(spec: dict[str, Any], path: str, kind: ErrorKind) -> None:
    """Each mistake is told once, where it stands."""
    assert [(path, kind)] == found(a_policy(**spec))


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        pytest.param([], "", "a list", id="a list"),
        pytest.param({}, "kind", "SpreadPolicy", id="an empty mapping"),
        pytest.param(
            {"kind": "KubeSchedulerConfiguration"}, "kind", "--scheduler-config", id="the scheduler's"
        ),
        pytest.param({"kind": "Deployment"}, "kind", "Deployment", id="a Deployment"),
        pytest.param({"kind": ["SpreadPolicy"]}, "kind", "SpreadPolicy", id="a kind in a list"),
        pytest.param({"kind": "SpreadPolicy", "apiVersion": "v1"}, "apiVersion", "v1alpha1", id="a version"),
    ],
)
def test_foreign_documents(value: object, path: str, words: str) -> None:
    """A document of another kind gets one error that says what is wanted."""
    (error,) = policy_errors(value)

    assert path == str(error.path)
    assert words in error.problem


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a.", "", "a\n", "x" * 254, 3, None])
def test_names(name: object) -> None:
    """A policy's name is a DNS subdomain."""
    document = a_policy() | {"metadata": {"name": name}}

    assert {"metadata.name"} == {path for path, _ in found(document)}


def test_a_hostile_name_is_judged_at_once() -> None:
    """A name of a megabyte does not keep the patterns busy."""
    document = a_policy(name="a" * 1_000_000 + "!", scope={"namespaces": ["a" * 1_000_000 + "!"]})

    assert {"metadata.name", "spec.scope.namespaces[0]"} == {path for path, _ in found(document)}


def test_keys_cannot_break_a_line() -> None:
    """A key with line breaks, or of any length, stays on its line of the report."""
    odd = {"a\nb: c": {"severity": 3}, "x" * 1000: 3}
    errors = policy_errors(a_policy(rules=odd, topology={"domains": odd}))

    assert len(errors) >= 4
    assert all("\n" not in str(error) and len(str(error)) < 400 for error in errors)


def values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    words = st.sampled_from(
        ["deny", "pods", "scheduler", "policy", "zone", "ScheduleAnyway", "DoNotSchedule", "Honor"]
    )
    names = st.sampled_from(
        [
            "scope",
            "defaults",
            "constraints",
            "rules",
            "topology",
            "domains",
            "enforcement",
            "at",
            "source",
            "kinds",
            "namespaces",
            "namespaceSelector",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
            "values",
            "maxSkew",
            "topologyKey",
            "whenUnsatisfiable",
            "minDomains",
            "labelSelector",
            "matchLabelKeys",
            "severity",
            "exceptions",
            "reason",
            "until",
            "annotationExemptions",
        ]
    )
    return st.recursive(
        scalars | words | st.just(SOFT),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=3), inner, max_size=5)
        ),
        max_leaves=15,
    )


@given(values())
def test_any_document(value: Any) -> None:
    """Any JSON value as a document gives errors or a policy, never an exception."""
    for document in (value, a_policy() | {"spec": value}, a_policy() | {"metadata": value}):
        if not policy_errors(document):
            build(document)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "scope": values(),
            "enforcement": st.sampled_from(["deny", "warn", "nope"]),
            "defaults": st.fixed_dictionaries(
                {},
                optional={
                    "at": st.sampled_from(["pods", "both", 1]),
                    "source": st.sampled_from(["policy", "scheduler", None]),
                    "constraints": st.lists(
                        st.sampled_from([SOFT, HARD, SOFT | {"minDomains": None}, {}, 3])
                    ),
                },
            ),
        },
    )
)
def test_loader_and_schema_agree(spec: Any) -> None:
    """Documents that load are valid by the schema: an editor never marks one that works."""
    document = a_policy(**spec)
    if not policy_errors(document):
        build(document)
        assert VALIDATOR.is_valid(document)
