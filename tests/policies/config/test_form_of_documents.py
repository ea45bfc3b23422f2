"""Documents, read by their types: compared with what their JSON Schemas allow."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.generator.published import document_schemas
from policies.config.form import form_errors
from policies.config.form_validator import MOST_ENTRIES
from policies.config.lint_config import LintConfig
from policies.config.node_groups import InstanceTypes, NodeGroups
from policies.config.own_kinds import OwnKind
from policies.config.spread_policy import API_VERSION, SpreadPolicyDocument
from policies.manifests.wire import DocumentFields
from tests.builders import a_policy
from tests.policies.config.documents import HARD

_SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}
_AMOUNTS = {"cpu": "2", "memory": "4Gi"}
#: A document of each kind in which every part stands that has a type of its own.
_FORMS: Mapping[str, tuple[type[DocumentFields], dict[str, Any]]] = {
    OwnKind.SPREAD_POLICY: (
        SpreadPolicyDocument,
        a_policy(
            scope={"namespaces": ["team-*"], "kinds": ["Job"], "objectSelector": _SELECTOR},
            exceptions=[{"rules": ["no-spread"], "reason": "r", "names": ["web-*"], "until": "2027-01-31"}],
            defaults={"at": "both", "constraints": [HARD]},
            rules={"no-spread": {"severity": "note", "params": {}}},
            topology={"domains": {"zone": ["a"]}},
        ),
    ),
    OwnKind.LINT_CONFIG: (
        LintConfig,
        {
            "paths": ["a"],
            "select": ["no-spread"],
            "failOn": "note",
            "kubernetesVersion": "1.34",
            "charts": [{"path": "a", "releases": [{"name": "b", "values": ["c"], "set": {"d": 1}}]}],
        },
    ),
    OwnKind.NODE_GROUPS: (
        NodeGroups,
        {
            "expanders": ["priority"],
            "priorities": [{"priority": 1, "names": ["a"]}],
            "scaleDown": {"utilizationThreshold": 0.5, "skipNodesWithSystemPods": True},
            "groups": [
                {
                    "name": "a",
                    "labels": {"b": "c"},
                    "taints": [{"key": "d", "effect": "NoSchedule"}],
                    "allocatable": _AMOUNTS,
                    "maxSize": 3,
                }
            ],
        },
    ),
    OwnKind.INSTANCE_TYPES: (
        InstanceTypes,
        {
            "instanceTypes": [
                {
                    "name": "a",
                    "allocatable": _AMOUNTS,
                    "offerings": [{"zones": ["b"], "capacityType": "spot", "price": 0.1}],
                }
            ]
        },
    ),
}
DOCUMENTS = {
    kind: {"apiVersion": API_VERSION, "kind": kind, **document} for kind, (_, document) in _FORMS.items()
}
VALIDATORS = {
    kind: jsonschema.Draft202012Validator(document_schemas()[form]) for kind, (form, _) in _FORMS.items()
}
#: Values that are wrong in most places, each in a way of its own.
_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 3, 10**10, 0.25, "", "no-spread", "A b", "x\n", [], [None], {}]
)


def _errors(kind: str, document: Any) -> list[str]:
    return [str(error) for error in form_errors(_FORMS[kind][0], document)]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object and list within a value, with each of its keys."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in members:
        yield value, key
        if isinstance(entry, dict | list):
            yield from _places(entry)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents_without_errors(kind: str) -> None:
    """The document that the others are made of has no errors, by either."""
    assert VALIDATORS[kind].is_valid(DOCUMENTS[kind])
    assert [] == _errors(kind, DOCUMENTS[kind])


@given(kind=st.sampled_from(sorted(DOCUMENTS)), data=st.data())
def test_reader_and_schema_agree(kind: str, data: st.DataObject) -> None:
    """A field replaced, removed or renamed is an error for the reader where it is one by the schema."""
    document = copy.deepcopy(DOCUMENTS[kind])
    parent, key = data.draw(st.sampled_from(list(_places(document))))
    change = data.draw(st.sampled_from(["replace", "remove", "rename"]))
    if change == "replace":
        parent[key] = data.draw(_VALUES)
    else:
        value = parent.pop(key)
        if change == "rename" and isinstance(parent, dict):
            parent["A b"] = value

    assert VALIDATORS[kind].is_valid(document) == (not _errors(kind, document))


@pytest.mark.parametrize("document", [None, [], "x"], ids=["null", "a list", "a text"])
def test_no_object(document: object) -> None:
    """A document that is no object has one error."""
    (error,) = _errors(OwnKind.LINT_CONFIG, document)

    assert "must be an object" in error


def test_too_many_fields() -> None:
    """Of a document with more fields than are looked at, that is said."""
    document = DOCUMENTS[OwnKind.LINT_CONFIG] | dict.fromkeys(map(str, range(MOST_ENTRIES)))
    (error,) = _errors(OwnKind.LINT_CONFIG, document)

    assert error.endswith("must have at most 10,000 entries")


def test_texts(golden: Callable[[str, str], str]) -> None:
    """Each kind of mistake has a text, at the path of its field; they are in the order of the paths."""
    document = a_policy(
        scope={"namespaces": ["A b"], "kinds": ["job"], "objectSelector": {"matchLabels": {"a": 1}}},
        exceptions=[
            {"rules": [], "reason": "", "until": "soon"},
            {"rules": ["A"], "reason": "r" * 1001, "names": ["A b"], "until": "2027-02-29"},
            {},
        ],
        enforcement="enforce",
        annotationExemptions=1,
        defaults=None,
        rules={"no-spread": {"x y": 1}, "A": {}},
        Scope={},
    )
    document["metadata"]["name"] = "A b"
    document["apiVersion"] = "v1"
    groups = {
        "kind": OwnKind.NODE_GROUPS,
        "groups": [{"name": "a", "allocatable": _AMOUNTS, "maxSize": 5_001, "minSize": -1}],
    }
    errors = [*_errors(OwnKind.SPREAD_POLICY, document), *_errors(OwnKind.NODE_GROUPS, groups)]
    actual = "".join(f"{text if len(text) < 300 else text[:297] + '...'}\n" for text in errors)

    assert golden("form_of_documents.txt", actual) == actual
