"""Suites of samples, as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policies.admission.decision import AdmissionVerdict
from policies.manifests.errors import DocumentError
from tests.builders import a_node, a_policy, a_workload
from webhook.lint.policy_suites import find_suites, read_suite

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}


def a_suite(folder: Path, **files: object) -> Path:
    """Write a suite; a file's name has ``__`` for its dots."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        documents = content if isinstance(content, list) else [content]
        text = content if isinstance(content, str) else yaml.safe_dump_all(documents)
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_a_suite(tmp_path: Path) -> None:
    """Samples come by their names, each with its workloads and a cluster of the other objects."""
    suite = a_suite(
        tmp_path,
        policy__yaml=a_policy("mine"),
        cluster__yaml=a_node("n1", "zone-a"),
        denied__b__yaml=[a_workload(), SERVICE],
        allowed__a__json=a_workload(),
        readme__md="no sample",
    )
    first, second = read_suite(suite)

    assert (AdmissionVerdict.ALLOWED, AdmissionVerdict.DENIED) == (first.expected, second.expected)
    assert ["Deployment"] == [manifest.value["kind"] for manifest, _ in second.workloads]
    assert ["mine"] == [policy.name for policy in second.context.policies]
    assert second.context.cluster is not None
    assert 1 == second.context.cluster.node_count


def test_a_suite_names_its_policies(tmp_path: Path) -> None:
    """suite.yaml names built-in policies, files beside it, the release and further kinds."""
    settings = {
        "policies": ["builtin:audit", "other.yaml"],
        "kubernetesVersion": "1.30",
        "workloadKinds": ["example.com/Thing=spec.template"],
    }
    thing = a_workload() | {"apiVersion": "example.com/v1", "kind": "Thing"}
    suite = a_suite(tmp_path, suite__yaml=settings, other__yaml=a_policy("other"), allowed__a__yaml=thing)
    (sample,) = read_suite(suite)

    assert ["audit", "other"] == [policy.name for policy in sample.context.policies]
    assert "1.30" == str(sample.context.kubernetes_version)
    assert sample.context.cluster is None


def test_suites_are_found(tmp_path: Path) -> None:
    """A folder is a suite, or holds some at any depth."""
    inner = tmp_path / "b" / "c"
    inner.parent.mkdir()
    a_suite(inner, suite__yaml="policies: []")
    outer = a_suite(tmp_path / "a", policy__yaml=a_policy())

    assert [outer, inner] == find_suites(str(tmp_path))
    assert [inner] == find_suites(str(inner))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        pytest.param({}, "holds no sample", id="no sample"),
        pytest.param({"deny__a__yaml": a_workload()}, "its name must start with", id="no verdict"),
        pytest.param({"denied__a__yaml": SERVICE}, "holds no pod and no workload", id="nothing to judge"),
        pytest.param({"denied__a__yaml": "a: ["}, "denied.a.yaml:", id="no YAML"),
        pytest.param({"suite__yaml": "policy: x"}, "unknown field", id="an unknown field"),
        pytest.param({"suite__yaml": "policies: x"}, "must be a list", id="no list"),
        pytest.param({"suite__yaml": "policies: ['builtin:x']"}, "no built-in policy", id="no such policy"),
        pytest.param({"suite__yaml": "{kubernetesVersion: '1'}"}, "suite.yaml: ", id="no release"),
        pytest.param({"suite__yaml": "a: 1\n---\nb: 2"}, "must hold one document", id="two documents"),
        pytest.param({"suite__yaml": "policies: [gone.yaml]"}, "No such file", id="a file that is not there"),
        pytest.param(
            {"allowed__a__yaml": [a_workload(), {"apiVersion": "v1", "kind": "Secret"}]},
            "not used by the test",
            id="an object of no use",
        ),
        pytest.param(
            {"allowed__a__yaml": a_workload(), "cluster__yaml": a_node("n1", "z") | {"metadata": 1}},
            "metadata: Invalid value",
            id="a broken node",
        ),
    ],
)
def test_problems(tmp_path: Path, files: dict[str, object], problem: str) -> None:
    """Errors that keep a suite from being read are reported with its file."""
    suite = a_suite(tmp_path, policy__yaml=a_policy(), **files)
    with pytest.raises(DocumentError) as raised:
        read_suite(suite)

    assert problem in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path)) or "builtin:" in str(raised.value)


def test_no_suite(tmp_path: Path) -> None:
    """A folder without any suite is a mistake."""
    with pytest.raises(DocumentError, match="no folder with a policy"):
        find_suites(str(tmp_path))
