"""Repairs of texts: which are made, which are not, and that Git then holds what admission would make."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import date
from typing import Any

import jsonpatch
import pytest
import yaml

from policies.config.context import AdmissionContext
from policies.config.loader import build, load_policies
from policies.config.spread_policy import Defaults, InjectAt, SpreadPolicy
from policies.lint.fix import Fixing, FixResult
from policies.lint.fix_targets import INJECTION
from policies.lint.run import Selection
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.version import KubernetesVersion
from tests.builders import APP, a_constraint, a_pod, a_policy, a_workload
from tests.webhook.reviewing import answered
from webhook.admission.review import Phase

OLD_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
EXEMPTION = "topology-key-deprecated: old nodes"
RENAMES = Selection(select=frozenset({"topology-key-deprecated"}))
SOFT_ZONE = Constraint(topology_key=ZONE, max_skew=2, when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY)


def a_fixing(*policies: SpreadPolicy, selection: Selection = RENAMES, **given: Any) -> Fixing:
    return Fixing(context=AdmissionContext(policies=policies), selection=selection, **given)


def fixed(run: Fixing, *objects: Any) -> tuple[list[Any], FixResult]:
    """Return the objects afterwards, and the result."""
    files = {"f.yaml": yaml.safe_dump_all(objects, sort_keys=False).encode()}
    result = run.fix(files)
    return list(yaml.safe_load_all(result.texts.get("f.yaml", files["f.yaml"]))), result


def spread(*constraints: dict[str, Any], **given: Any) -> dict[str, Any]:
    return a_workload(spec={"topologySpreadConstraints": list(constraints)}, **given)


def test_repair() -> None:
    """A problem with edits is mended, and lint finds it no more."""
    (web,), result = fixed(a_fixing(), spread(a_constraint(topologyKey=OLD_ZONE)))

    assert ZONE == web["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["topologyKey"]
    assert ["topology-key-deprecated"] == [repair.rule for repair in result.made]
    assert [] == result.left.findings


def test_items_of_a_list() -> None:
    """Objects inside a List are mended where they stand."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [spread(a_constraint(topologyKey=OLD_ZONE))] * 2}
    files = {"f.json": json.dumps(listed, indent=2).encode()}
    result = a_fixing().fix(files)

    assert files["f.json"].replace(OLD_ZONE.encode(), ZONE.encode()) == result.texts["f.json"]


def test_rounds() -> None:
    """A repair that only another one makes possible is made in a later round."""
    rules = Selection(select=frozenset({"selector-missing", "revision-key-missing"}))
    web = spread(a_constraint(labelSelector=None))
    web["spec"]["replicas"] = 3
    (done,), result = fixed(a_fixing(selection=rules), web)
    (entry,) = done["spec"]["template"]["spec"]["topologySpreadConstraints"]

    assert ({"matchLabels": APP}, ["pod-template-hash"]) == (entry["labelSelector"], entry["matchLabelKeys"])
    assert ["selector-missing", "revision-key-missing"] == [repair.rule for repair in result.made]


def test_one_in_the_way_stops_no_other() -> None:
    """Edits that cannot be written safely are reported and left out; the rest of the file is fixed."""
    objects = [spread(a_constraint(topologyKey=OLD_ZONE), name=name) for name in "abc"]
    text = yaml.safe_dump_all(objects).replace(OLD_ZONE, f"&zone {OLD_ZONE}", 2).replace("&zone ", "", 1)
    result = a_fixing().fix({"f.yaml": text.encode()})

    assert ["Deployment a", "Deployment c"] == [repair.title for repair in result.made]
    assert ["Deployment b"] == [repair.title for repair, _ in result.refused]
    assert 1 == len(result.left.findings)


def test_exempt() -> None:
    """Findings that an annotation exempts are not fixed, until its last day is over."""
    ignored = {"evenkeel.dev/ignore": f"{EXEMPTION} (until 2027-01-31)"}
    web = spread(a_constraint(topologyKey=OLD_ZONE), annotations=ignored)
    days = [date(2027, 1, 31), date(2027, 2, 1)]

    assert [0, 1] == [len(fixed(a_fixing(today=day), web)[1].made) for day in days]


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        pytest.param({"enforcement": "warn"}, 0, id="nothing is denied"),
        pytest.param({"enforcement": "deny"}, 1, id="denied, annotations do not exempt"),
        pytest.param({"enforcement": "deny", "annotationExemptions": "allowed"}, 0, id="annotations exempt"),
    ],
)
def test_exempt_as_lint(spec: dict[str, Any], made: int) -> None:
    """Only findings that lint exempts are left: where a policy denies whatever annotations say, none are."""
    spec = spec | {"rules": {"topology-key-deprecated": {"severity": "error"}}}
    web = spread(a_constraint(topologyKey=OLD_ZONE), annotations={"evenkeel.dev/ignore": EXEMPTION})
    result = fixed(a_fixing(build(a_policy(**spec))), web)[1]

    assert made == len(result.made)
    assert 1 - made == len(result.left.suppressed)


def test_exception_of_a_policy() -> None:
    """Findings that an exception of a policy covers are not fixed."""
    exception = {"rules": ["topology-key-deprecated"], "names": ["web"], "reason": "moving"}
    policy = build(a_policy(exceptions=[exception]))
    objects = [spread(a_constraint(topologyKey=OLD_ZONE), name=name) for name in ("web", "api")]

    assert ["Deployment api"] == [fix.title for fix in fixed(a_fixing(policy), *objects)[1].made]


def test_unreadable() -> None:
    """A file that cannot be read is told and left alone."""
    result = a_fixing().fix({"a.yaml": b"a: [", "b.yaml": yaml.safe_dump(spread()).encode()})

    assert {} == result.texts
    assert ["a.yaml"] == [problem.partition(":")[0] for problem in result.unreadable]


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}], ids=["none", "empty", "some"])
@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("Deployment", "apps"),
        ("StatefulSet", "apps"),
        ("Rollout", "argoproj.io"),
        ("DaemonSet", "apps"),
        ("Job", "batch"),
    ],
)
def test_git_holds_what_admission_makes(kind: str, group: str, annotations: Any, form: str) -> None:
    """``fix --inject`` makes of a manifest what the webhook's patch makes of it."""
    policy = SpreadPolicy(name="p", defaults=Defaults(at=InjectAt.WORKLOADS, constraints=(SOFT_ZONE,)))
    context = AdmissionContext(policies=(policy,))
    web = a_workload(kind, group)
    if annotations is not None:
        web["metadata"]["annotations"] = annotations
    text = json.dumps(web, indent=4) if form == "json" else yaml.safe_dump(web, sort_keys=False)
    files = {"f": text.encode()}
    result = Fixing(context=context, inject=True, selection=RENAMES).fix(files)

    assert _admitted(web, context) == yaml.safe_load(result.texts.get("f", files["f"]))
    assert (kind not in ("DaemonSet", "Job")) == bool(result.texts)


def _admitted(obj: dict[str, Any], context: AdmissionContext) -> Any:
    group, _, version = obj["apiVersion"].rpartition("/")
    request = {
        "uid": "u",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "resource": {"group": group, "version": version, "resource": "x"},
        "namespace": obj["metadata"]["namespace"],
        "operation": "CREATE",
        "userInfo": {},
        "object": obj,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = json.loads(answered(json.dumps(review).encode(), Phase.MUTATE, context).body)["response"]
    patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    return jsonpatch.apply_patch(obj, patch)


def test_injection_settles() -> None:
    """A second run finds nothing to do."""
    soft = load_policies(["builtin:soft-spread"], lambda _: b"")
    run = a_fixing(*soft, inject=True)
    (web,), result = fixed(run, a_workload())

    assert [INJECTION] == [repair.rule for repair in result.made]
    assert {} == fixed(run, web)[1].texts


def test_defaults_for_pods_are_written_into_workloads() -> None:
    """A policy for pods reaches Git in the workload; a bare pod, whose Services nobody knows, gets none."""
    (soft,) = load_policies(["builtin:soft-spread"], lambda _: b"")
    assert soft.defaults
    at_workloads = replace(soft, defaults=replace(soft.defaults, at=InjectAt.WORKLOADS))
    (web, pod), _ = fixed(a_fixing(soft, inject=True), a_workload(), a_pod())

    assert a_pod() == pod
    assert _admitted(a_workload(), AdmissionContext(policies=(at_workloads,))) == web


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        pytest.param(a_workload(labels={"app": "other"}), True, id="selects other pods: told"),
        pytest.param(spread(a_constraint()), False, id="has its own"),
        pytest.param(a_workload(namespace="kube-system"), False, id="out of scope"),
        pytest.param(a_workload(annotations={"evenkeel.dev/inject": "false"}), False, id="opted out"),
    ],
)
def test_no_injection(obj: dict[str, Any], *, told: bool) -> None:
    """Who gets no defaults is told where the author can do something about it."""
    (soft,) = load_policies(["builtin:soft-spread"], lambda _: b"")
    _, result = fixed(a_fixing(soft, inject=True), obj)

    assert [] == result.made
    assert told == bool(result.skipped)


def test_older_release() -> None:
    """Before 1.27 no key is written that the cluster would drop."""
    (soft,) = load_policies(["builtin:soft-spread"], lambda _: b"")
    context = AdmissionContext(policies=(soft,), kubernetes_version=KubernetesVersion(1, 26))
    files = {"f": yaml.safe_dump(a_workload()).encode()}

    assert b"matchLabelKeys" not in Fixing(context=context, inject=True).fix(files).texts["f"]
