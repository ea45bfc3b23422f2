"""From the text of SpreadPolicy documents to policies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.config import loader
from policies.config.loader import load_policies
from policies.config.spread_policy import Enforcement
from policies.manifests.errors import DocumentError
from policies.manifests.findings import Severity
from tests.builders import a_policy
from tests.policies.config.documents import SOFT, builtin_policy

FILES = {
    "good.yaml": json.dumps(a_policy("good", enforcement="warn")),
    "two.yaml": "\n---\n".join(json.dumps(a_policy(name)) for name in ("one", "two")).join(["---\n", "\n"]),
    "bad.yaml": "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata:\n  name: Bad\n"
    "spec:\n  enforcement: enforce\n",
    "config.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    "broken.yaml": "a: b: c",
    "empty.yaml": "# nothing\n",
}


def read(name: str) -> bytes:
    if name not in FILES:
        raise DocumentError([f"{name}: no such file"])
    return FILES[name].encode()


def problems(*names: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load_policies(names, read)
    return list(caught.value.problems)


def test_several_policies() -> None:
    """Files may hold several policies; the order stays."""
    policies = load_policies(["two.yaml", "good.yaml", "builtin:audit"], read)

    assert ["one", "two", "good", "audit"] == [policy.name for policy in policies]
    assert Enforcement.WARN is policies[2].enforcement


def test_every_problem_of_every_file() -> None:
    """One error holds everything wrong with all files, each with file, line and field."""
    found = problems("bad.yaml", "good.yaml", "broken.yaml", "nope.yaml", "empty.yaml", "config.yaml")

    assert ["bad.yaml:4", "bad.yaml:6", "broken.yaml:1", "nope.yaml", "empty.yaml", "config.yaml:2"] == [
        problem.partition(": ")[0] for problem in found
    ]
    assert found[1].startswith('bad.yaml:6: spec.enforcement: Unsupported value: "enforce"')


def test_repeated_names() -> None:
    """Two policies of one name are told apart by their places."""
    (problem,) = problems("good.yaml", "two.yaml", "good.yaml")

    assert problem.startswith('good.yaml:1: metadata.name: Duplicate value: "good"')
    assert problem.endswith("good.yaml:1")


def test_unknown_builtin() -> None:
    """A built-in document that is not there names those that are."""
    assert ["builtin:nope: no built-in policy; there are audit, default, soft-spread"] == problems(
        "builtin:nope"
    )


@pytest.mark.parametrize("name", ["../builtin/audit", "audit.yaml", "", "/etc/passwd"])
def test_builtin_names_are_no_paths(name: str) -> None:
    """A name leads to a built-in document and nowhere else."""
    with pytest.raises(DocumentError, match="no built-in policy"):
        loader.builtin_bytes(name)


@pytest.mark.parametrize("name", loader.builtin_names())
def test_every_builtin_loads_and_is_described(name: str) -> None:
    """A built-in document bears its file's name and starts by saying who it is for."""
    text = loader.builtin_bytes(name).decode()

    assert name == builtin_policy(name).name
    assert text.startswith("# ")
    assert name in text


def test_the_default_policy_leaves_the_control_plane_alone() -> None:
    """Without a policy the namespaces that a cluster needs to start are out of scope."""
    scope = builtin_policy("default").scope

    assert [False, False, False, True] == [
        scope.matches(name, None, {}, frozenset({"Pod"}))
        for name in ("kube-system", "kube-public", "kube-node-lease", "shop")
    ]


def test_builtin_defaults_are_soft() -> None:
    """No built-in document can keep a pod pending."""
    defaults = [builtin_policy(name).defaults for name in loader.builtin_names()]

    assert {"ScheduleAnyway"} == {
        constraint.when_unsatisfiable for entry in defaults if entry for constraint in entry.constraints
    }


def test_rules_and_topology() -> None:
    """The settings of rules and the topology are kept."""
    spec: dict[str, Any] = {
        "rules": {"a-rule": {"severity": "note", "enforcement": "audit", "params": {"x": 1}}},
        "topology": {"domains": {"zone": ["a", "b"]}},
    }
    policy = loader.build(a_policy(**spec))

    assert (Severity.NOTE, Enforcement.AUDIT, {"x": 1}) == (
        policy.rules["a-rule"].severity,
        policy.rules["a-rule"].enforcement,
        policy.rules["a-rule"].params,
    )
    assert {"zone": ("a", "b")} == policy.topology.domains


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(JSON | JSON.map(lambda value: a_policy() | {"spec": value}) | JSON.map(lambda v: a_policy(scope=v)))
def test_any_json(value: object) -> None:
    """Any JSON value as a file gives policies or a DocumentError."""
    try:
        found: object = load_policies(["f"], lambda _: json.dumps(value).encode())
    except DocumentError as error:
        found = error.problems

    assert found


@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    """Any bytes as a file give a DocumentError: they are no policy."""
    with pytest.raises(DocumentError):
        load_policies(["f"], lambda _: content)


def test_constraints_are_parsed() -> None:
    """Default constraints are the model's."""
    defaults = loader.build(a_policy(defaults={"constraints": [SOFT]})).defaults

    assert defaults is not None
    assert [SOFT] == [constraint.to_dict() for constraint in defaults.constraints]
