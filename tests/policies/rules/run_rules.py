"""Ask one rule of manifests, without the rest of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from policies.config.context import AdmissionContext
from policies.lint.workload_loader import load_workload
from policies.manifests.documents import ManifestObject, load, objects
from policies.model.repository import Repository
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.rules.base import Context, Problem, Rule, RuleTarget, all_rules


def problems_of_objects(
    manifests: Iterable[ManifestObject], rule: Rule, context: Context
) -> Iterator[tuple[ManifestObject, list[Problem]]]:
    """Yield the workloads among manifests and what a rule finds in each; nothing for other rules.

    A rule is run on what it declares to find nothing in as well, and must be right.
    """
    if rule.target is not RuleTarget.WORKLOAD:
        return
    entries = [(manifest, _workload(manifest, context.version)) for manifest in manifests]
    repository = Repository.of(
        (workload for _, workload in entries if workload is not None),
        (manifest.value for manifest, workload in entries if workload is None),
    )
    params = context.params or (rule.params and rule.params())
    around = replace(context, repository=repository, params=params)
    for manifest, workload in entries:
        if workload is not None:
            found = list(rule.check(workload, around))
            has = workload.parts | workload.broken_rules
            assert not found or rule.may_find(has), f"{rule.id} needs {rule.needs}: {found}"
            yield manifest, found


def problems(rule: str, text: str, context: Context | None = None) -> list[Problem]:
    """Return the findings of a rule in the YAML of manifests."""
    manifests = [entry for document in load(text, "test.yaml") for entry in objects(document)]
    found = problems_of_objects(manifests, all_rules()[rule], context or Context())
    return [problem for _, entries in found for problem in entries]


def workloads(text: str, version: KubernetesVersion = KNOWN_VERSION) -> list[Workload]:
    """Return the workloads of some YAML."""
    manifests = (entry for document in load(text, "test.yaml") for entry in objects(document))
    found = (_workload(manifest, version) for manifest in manifests)
    return [workload for workload in found if workload is not None]


def _workload(manifest: ManifestObject, version: KubernetesVersion = KNOWN_VERSION) -> Workload | None:
    return load_workload(manifest, AdmissionContext(policies=(), kubernetes_version=version))
