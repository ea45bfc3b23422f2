"""Which rules are asked of which objects, and what becomes of a finding."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from policies.config.context import AdmissionContext
from policies.lint.run import Selection, lint
from policies.manifests.documents import Document, load, objects
from policies.manifests.findings import Severity
from policies.manifests.skipped import SkipReason
from policies.model.embedded import FIELD
from tests.builders import a_constraint, a_workload
from tests.policies.lint.policy_runs import POD, RULE, linted

OWN = "selector-misses-own-pod"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [Severity.ERROR], id="no policy: the rule's own severity"),
        pytest.param({"rules": {RULE: {"severity": "note"}}}, [Severity.NOTE], id="a policy's severity"),
        pytest.param(
            {"rules": {"selector-empty": {"severity": "note"}}}, [Severity.ERROR], id="of another rule"
        ),
        pytest.param({"scope": {"excludeNamespaces": ["shop"]}}, [], id="in nobody's scope"),
    ],
)
def test_policies(spec: dict[str, Any], expected: list[Severity]) -> None:
    """The policies that hold an object say how bad a finding is; what none holds is not judged."""
    assert expected == [finding.severity for finding in linted(POD % "", **spec).findings]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param("name: web, namespace: shop", [], id="texts"),
        pytest.param("name: 007", ["metadata.name"], id="007 is a number"),
        pytest.param("name: web, namespace: n", ["metadata.namespace"], id="n is false to kubectl"),
        pytest.param("name: '007', namespace: ~", [], id="quoted, and null"),
    ],
)
def test_names_of_a_wrong_type(metadata: str, expected: list[str]) -> None:
    """A name that YAML makes no text of is one that the API server refuses."""
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{{metadata}}}\nspec: {{replicas: 1}}\n"
    manifests = [entry for document in load(text, "a.yaml") for entry in objects(document)]
    result = lint(manifests, AdmissionContext(policies=()))

    assert expected == [str(finding.path) for finding in result.findings if finding.rule == "wrong-type"]


PLAIN_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
ZERO = {"maxSkew": 0, "topologyKey": "a/b", "whenUnsatisfiable": "DoNotSchedule"}
TERMS = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}] * 300}}
RESOURCE = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(PLAIN_POD | {"spec": {FIELD: [ZERO] * 255}}, 0, id="255 errors"),
        pytest.param(PLAIN_POD | {"spec": {FIELD: [ZERO] * 300}}, 2, id="300 of 2 rules"),
        pytest.param(PLAIN_POD | {"spec": {"affinity": TERMS}}, 1, id="300 terms"),
        pytest.param(RESOURCE | {"spec": {FIELD: [ZERO] * 300}}, 2, id="a custom resource"),
    ],
)
def test_errors_that_are_not_listed(obj: dict[str, Any], expected: int) -> None:
    """Where errors are left out, the object is listed as one that was not judged to its end."""
    result = lint(objects(Document(obj, "a.yaml", 0)), AdmissionContext(policies=()))

    assert [("Pod web" if obj["kind"] == "Pod" else "Prometheus web")] * expected == [
        entry.title for entry in result.cut if entry.reason is SkipReason.LIMIT_EXCEEDED
    ]


@pytest.mark.parametrize(("line", "fixable"), [(1, True), (0, False)])
def test_what_no_file_holds_cannot_be_fixed(line: int, fixable: bool) -> None:  # noqa: FBT001
    """An edit of what helm or kustomize made could be written nowhere."""
    obj = yaml.safe_load(POD % "")
    obj["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "failure-domain.beta.kubernetes.io/zone",
            "labelSelector": {"matchLabels": {}},
        }
        | {"whenUnsatisfiable": "DoNotSchedule"}
    ]
    document = Document(obj, "a.yaml", 0, line)
    selection = Selection(select=frozenset({"topology-key-deprecated"}))
    result = lint(objects(document), AdmissionContext(policies=()), selection=selection)

    assert [fixable] == [finding.fixable for finding in result.findings]


OPEN = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      topologySpreadConstraints: %s
      containers: [{name: web, image: web}]
"""
ENTRY = "topologyKey: a/b, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}"
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {topologySpreadConstraints: [{topologyKey: a/b, %s}]}}}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(OPEN % ("web", f"[{{maxSkew: 0, {ENTRY}}}]"), {RULE}, id="nothing is open: maxSkew 0"),
        pytest.param(OPEN % ("web", f"[{{maxSkew: '${{SKEW}}', {ENTRY}}}]"), set(), id="maxSkew is open"),
        pytest.param(
            OPEN % ("web", "[{maxSkew: 0, " + ENTRY.replace("web", "'${APP}'") + "}]"),
            {RULE},
            id="the selector is open, maxSkew 0 is not",
        ),
        pytest.param(OPEN % ("web", "'{{ .Values.spread }}'"), set(), id="the list is open"),
        pytest.param(OPEN % ("web", f"[{{maxSkew: {{skew}}, {ENTRY}}}]"), set(), id="maxSkew in bare braces"),
        pytest.param(OPEN % ("{app}", f"[{{maxSkew: 1, {ENTRY}}}]"), set(), id="a label in bare braces"),
        pytest.param(
            OPEN % ("'${APP}'", f"[{{maxSkew: 1, {ENTRY}}}]"), set(), id="what the selector meets is open"
        ),
        pytest.param(OPEN % ("api", f"[{{maxSkew: 1, {ENTRY}}}]"), {OWN}, id="the selector misses the pod"),
        pytest.param(PATCH % "maxSkew: 2", set(), id="a patch: the rest stands elsewhere"),
        pytest.param(PATCH % "$patch: delete", set(), id="a patch with a directive"),
        pytest.param(PATCH % "maxSkew: 0", {RULE}, id="a patch with maxSkew 0"),
    ],
)
def test_what_is_still_open(text: str, expected: set[str]) -> None:
    """Values that another tool fills in or merges later are not evaluated; values that it keeps are."""
    manifests = [entry for document in load(text, "a.yaml") for entry in objects(document)]
    ignore = frozenset({"revision-key-missing"})
    found = lint(manifests, AdmissionContext(policies=()), selection=Selection(ignore=ignore))

    assert expected == {finding.rule for finding in found.findings}


PROMETHEUS = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: k8s, namespace: shop}
spec:
  topologySpreadConstraints:
    - {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
"""


@pytest.mark.parametrize(
    ("text", "selection", "expected"),
    [
        pytest.param(PROMETHEUS, Selection(), ["max-skew-not-positive: 6"], id="maxSkew 0"),
        pytest.param(PROMETHEUS, Selection(ignore=frozenset({"max-skew-not-positive"})), [], id="ignored"),
        pytest.param(PROMETHEUS, Selection(select=frozenset({"wrong-type"})), [], id="not selected"),
        pytest.param(
            PROMETHEUS.replace("k8s", "k8s, annotations: {evenkeel.dev/ignore: 'max-skew-not-positive: x'}"),
            Selection(),
            [],
            id="exempt",
        ),
        pytest.param(
            PROMETHEUS.replace("maxSkew: 0", "maxSkew: 0, maxSkew: 1"),
            Selection(),
            ["duplicate-key: 6"],
            id="a key twice: the last one counts",
        ),
    ],
)  # fmt: skip
def test_custom_resources(text: str, selection: Selection, expected: list[str]) -> None:
    """Constraints of a custom resource are held to the API's rules, at their lines, and are counted."""
    manifests = [entry for document in load(text, "f.yaml") for entry in objects(document)]
    result = lint(manifests, AdmissionContext(policies=()), selection=selection)

    assert expected == [f"{finding.rule}: {finding.location.line}" for finding in result.findings]
    assert (0, 1) == (result.workloads, result.custom_resources)


def test_keys_that_stand_twice_of_a_list() -> None:
    """Each object of a List has its own findings, with paths that start at it."""
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: a, name: b}}\n"
        "- {apiVersion: v1, kind: Service, kind: ConfigMap}\n"
    )
    manifests = [entry for document in load(text, "f.yaml") for entry in objects(document)]
    result = lint(
        manifests, AdmissionContext(policies=()), selection=Selection(select=frozenset({"duplicate-key"}))
    )

    assert [("Pod b", "metadata.name", 4), ("ConfigMap", "kind", 5)] == [
        (finding.title, str(finding.path), finding.location.line) for finding in result.findings
    ]


def test_errors_hide_no_others() -> None:
    """Of a constraint that the API server refuses all that is wrong is told, not that alone."""
    broken = a_constraint(maxSkew=0, topologyKey="zone", labelSelector=None)
    repeated = a_constraint(topologyKey="a/b", labelSelector=None)
    workload = a_workload(spec={FIELD: [broken, repeated, repeated]})
    result = lint(objects(Document(workload, "a.yaml", 0)), AdmissionContext(policies=()))

    assert {
        ("max-skew-not-positive", f"{FIELD}[0].maxSkew"),
        ("topology-key-unqualified", f"{FIELD}[0].topologyKey"),
        ("selector-missing", f"{FIELD}[0].labelSelector"),
        ("constraint-repeated", f"{FIELD}[1].{{topologyKey, whenUnsatisfiable}}"),
        ("selector-missing", f"{FIELD}[1].labelSelector"),
        ("selector-missing", f"{FIELD}[2].labelSelector"),
    } == {(finding.rule, str(finding.path).rpartition("template.spec.")[2]) for finding in result.findings}


ROLLOUT = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web"}}
CONTAINERS = {"containers": [{"name": "web", "image": "web"}]}


@pytest.mark.parametrize(
    ("obj", "reasons", "judged", "wrong"),
    [
        pytest.param({}, [SkipReason.NO_POD_TEMPLATE], 0, [], id="a name alone"),
        pytest.param({"spec": {"replicas": 3}}, [SkipReason.NO_POD_TEMPLATE], 0, [], id="replicas alone"),
        pytest.param(
            {"spec": {"template": {"metadata": {"labels": {"app": "web"}}}}},
            [SkipReason.NO_POD_TEMPLATE],
            0,
            [],
            id="labels of pods alone",
        ),
        pytest.param({"spec": {}}, [], 1, ["spec"], id="an empty spec is an error"),
        pytest.param({"spec": 3}, [], 1, ["spec"], id="a number for a spec is an error"),
        pytest.param(
            {"spec": {"template": []}}, [], 1, ["spec.template"], id="a list for a template is an error"
        ),
        pytest.param({"spec": {"template": {"spec": CONTAINERS}}}, [SkipReason.PATCH], 1, [], id="no labels"),
        pytest.param(
            {"spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": "a"}}}},
            [SkipReason.PATCH],
            1,
            [],
            id="no containers",
        ),
        pytest.param(PLAIN_POD, [SkipReason.NO_POD_TEMPLATE], 0, [], id="a pod without spec"),
        pytest.param(
            PLAIN_POD | {"metadata": {"name": "web", "labels": {"app": "web"}}},
            [SkipReason.NO_POD_TEMPLATE],
            0,
            [],
            id="a pod with labels and without spec",
        ),
        pytest.param(PLAIN_POD | {"spec": CONTAINERS}, [], 1, [], id="a pod without labels is whole"),
        pytest.param(
            ROLLOUT | {"spec": {"workloadRef": {}}}, [], 1, [], id="a custom resource may refer to one"
        ),
    ],
)
def test_parts_of_manifests(
    obj: dict[str, Any], reasons: list[SkipReason], judged: int, wrong: list[str]
) -> None:
    """A missing part is an error, or the object is listed as not evaluated, or only in part."""
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}} | obj
    result = lint(objects(Document(whole, "a.yaml", 0)), AdmissionContext(policies=()))

    assert reasons == [entry.reason for entry in result.cut]
    assert (judged, wrong) == (result.workloads, [str(finding.path) for finding in result.findings])
