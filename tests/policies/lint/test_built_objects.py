"""Findings in what kustomize built, at the line that they come from."""

from __future__ import annotations

from policies.config.context import AdmissionContext
from policies.lint.run import Selection, lint
from policies.lint.workload_loader import load_manifests
from policies.manifests.documents import load, objects
from policies.model.labels import LabelSelector
from tests.policies.lint.builds import BASE, a_build

CONTEXT = AdmissionContext(policies=())
RENAMES = Selection(select=frozenset({"topology-key-deprecated"}))


def test_at_origin() -> None:
    """Line, path and name are the text's; the build has the object's own."""
    findings = lint([a_build("prod", patched=True)], CONTEXT, selection=RENAMES).findings
    actual = [(str(f.location), f.title, f.path.segments[-2], f.fixable, f.used_in_builds) for f in findings]
    built = [(b.file, b.title, b.path.segments[-2]) for f in findings for b in f.builds]
    file = "prod/kustomization.yaml"

    assert [
        ("base/web.yaml:10", "Deployment web", 0, True, 2),
        ("comp/kustomization.yaml:10", "Deployment web", 0, True, 2),
    ] == actual
    assert [(file, "Deployment prod-web", 1), (file, "Deployment prod-web", 0)] == built


def test_nobody_knows() -> None:
    """A value that no text sets is reported at the kustomization, and not as fixable."""
    manifest = a_build("prod")
    manifest.origin.__dict__["layers"] = ()
    (finding,) = lint([manifest], CONTEXT, selection=RENAMES).findings

    assert ("prod/kustomization.yaml", False) == (str(finding.location), finding.fixable)
    assert finding.path == finding.builds[0].path


def test_exemption_without_effect() -> None:
    """An error in an exemption is reported where it was built: no text sets it here."""
    manifest = a_build("prod", annotations={"evenkeel.dev/ignore": "nosuch: why"})
    (finding,) = lint([manifest], CONTEXT, selection=Selection(select=frozenset())).findings

    assert "prod/kustomization.yaml" == str(finding.location)


def test_builds_of_one_resource_are_no_others() -> None:
    """Overlays that rename a resource make no second workload of it; another resource is one."""
    (other,) = objects(load(BASE.replace("name: web", "name: api"), "base/api.yaml")[0])
    loaded = load_manifests([a_build("prod"), a_build("stage"), other], CONTEXT)
    selector = LabelSelector.parse({"matchLabels": {"app": "web"}})
    names = [[found.name for found in loaded.repository.others(each, selector)] for each in loaded.workloads]

    assert [["api"], ["api"], ["prod-web", "stage-web"]] == [sorted(found) for found in names]
