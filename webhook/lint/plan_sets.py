"""The sets of manifests that a plan compares: each is read and linted as ``evenkeel lint`` does."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from planning.plan.plan import ManifestSet
from planning.plan.plan_differences import BuiltWorkload, Source
from policies.lint.run import lint
from policies.lint.workload_loader import ManifestWorkload
from policies.manifests.documents import ManifestObject
from policies.manifests.file_name import STDIN
from policies.manifests.findings import Finding
from policies.manifests.skipped import Skipped
from policies.model.cluster_kinds import APPLIED_ALONG
from policies.model.replica_sources import is_autoscaler
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.model.workload_ref import with_namespace
from policies.pods.placement import read_workload
from policies.scheduler.index import ClusterIndex
from webhook.lint.inputs import gather_texts
from webhook.lint.options import LintOptions
from webhook.lint.run import LintJob, build_job, lint_texts, unreadable_source, without_ignored


@dataclass(slots=True)
class LintedSet:
    """A set of manifests, and what lint says of it."""

    manifests: ManifestSet  #: Its workloads, Services and Namespaces.
    job: LintJob  #: What it was linted by.
    findings: list[Finding] = field(default_factory=list)  #: What lint found, with files that cannot be read.
    skipped: list[Skipped] = field(default_factory=list)  #: What was not read.
    #: Whether files that cannot be read are among it which the options do not ignore.
    unreadable: bool = False
    #: The workloads that cannot be placed before another tool has filled in placeholders.
    unfinished: list[Workload] = field(default_factory=list)
    objects: int = 0  #: How many objects it has, of any kind.


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReader:
    """Reads sets of manifests."""

    cluster: ClusterIndex  #: The cluster, whose nodes rules look at.
    namespace: str  #: Where objects go that name no namespace; empty for ``default``.
    today: date  #: The day by which exemptions expire.
    warn: Callable[[str], None]  #: Called with each line about what was left out of options and their files.

    def read(self, options: LintOptions, show: Callable[[float], None]) -> LintedSet:
        """Return the manifests of some paths.

        Args:
            options: The paths, and what to lint by.
            show: Called with the share of the work that is done.

        Raises:
            OSError: A file of the options cannot be opened.
            DocumentError: A file of the options is invalid.
            UsageError: Options contradict each other.
        """
        job = self.job(options)
        if not options.paths:
            return LintedSet(ManifestSet(workloads=(), context=job.context), job)
        texts = gather_texts(options.paths, tools=options.tools, exclude=options.exclude)
        outcome = lint_texts(texts.texts, job, show)
        found = self._set(
            job,
            outcome.loaded.workloads,
            (entry.value for entry in outcome.loaded.others),
            root=options.paths[0] if len(options.paths) == 1 else "",
        )
        problems, ignored = without_ignored(
            [*texts.problems, *outcome.problems], texts.missing, options.config
        )
        found.findings = [*outcome.result.findings, *problems]
        found.skipped = [*texts.skipped, *outcome.skipped, *ignored, *map(unreadable_source, problems)]
        found.unreadable = bool(problems)
        found.objects = len(outcome.loaded.workloads) + len(outcome.loaded.others)
        return found

    def of_objects(self, objects: Iterable[ManifestObject], job: LintJob) -> LintedSet:
        """Return objects of a cluster as a set, checked as manifests are."""
        listed = list(objects)
        result = lint(listed, job.context, selection=job.selection, inventory=job.inventory, today=job.today)
        found = self._set(job, (), ())
        context = replace(job.context, reads_stored=True)
        workloads = [read_workload(entry.value, context, namespace=self.namespace) for entry in listed]
        found.manifests = ManifestSet(workloads=workloads, context=job.context)
        found.findings = result.findings
        found.objects = len(listed)
        return found

    def job(self, options: LintOptions) -> LintJob:
        """Return the job that lints the manifests of some options."""
        return build_job(options.config, today=self.today, warn=self.warn, cluster=self.cluster)

    def _set(
        self,
        job: LintJob,
        workloads: Iterable[ManifestWorkload],
        others: Iterable[dict[str, Any]],
        *,
        root: str = "",
    ) -> LintedSet:
        unfinished: list[Workload] = []
        placed = list(self._placed(workloads, job, unfinished, root))
        along = [
            with_namespace(obj, self.namespace or DEFAULT_NAMESPACE)
            for obj in others
            if kind_of(obj) in APPLIED_ALONG or is_autoscaler(obj)
        ]
        manifests = ManifestSet(
            workloads=[workload for workload, _ in placed],
            sources=[source for _, source in placed],
            along=along,
            context=job.context,
        )
        return LintedSet(manifests, job, unfinished=unfinished)

    def _placed(
        self, workloads: Iterable[ManifestWorkload], job: LintJob, unfinished: list[Workload], root: str
    ) -> Iterator[BuiltWorkload]:
        """Yield workloads as the API server would get them; what helm test makes is not applied."""
        for written in workloads:
            workload = read_workload(written.obj, job.context, namespace=self.namespace)
            if workload.is_test:
                continue
            # Of what another tool has yet to fill in, lint reports no errors.
            if workload.errors and not written.errors:
                unfinished.append(workload)
            else:
                file = written.manifest.document.file
                yield workload, Source(file, _below(file, root))


def _below(file: str, root: str) -> str:
    """Return a file below the only path that was given, as it may be below another one."""
    place = posixpath.relpath(file, root) if root not in ("", STDIN) and file else file
    return file if place.startswith("..") else place
