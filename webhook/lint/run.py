"""A lint run: from options to what texts are linted by, and from texts to findings.

Libraries that only some options need are imported for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policies.config.context import AdmissionContext, listed_domains, load_context
from policies.config.lint_config import LintConfig
from policies.lint.merge_builds import merge_builds
from policies.lint.run import NO_INVENTORY, LintResult, Selection, knows_enough, lint_loaded
from policies.lint.workload_loader import LoadedManifests, load_manifests
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import UsageError
from policies.manifests.fields import shown_name
from policies.manifests.file_name import shown_file
from policies.manifests.findings import Finding, Location
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, as_all_there_is
from policies.model.scaling import ScaleUps
from policies.model.topology import ClusterTopology, KnownStorage
from policies.rules.base import RuleTarget, all_rules, unknown_rule
from policies.scheduler.releases import unknown_release
from webhook.lint.files import UNREADABLE, Text, read_text
from webhook.lint.parse import parse, pieces

if TYPE_CHECKING:
    from policies.scheduler.index import ClusterIndex


#: The share of the time that reading takes; rules take the rest. Measured on Deployments of 700 bytes.
READING_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class LintJob:
    """The inputs that every text is linted by."""

    context: AdmissionContext  #: Policies, release and kinds.
    selection: Selection  #: Which rules run.
    inventory: ClusterTopology | None = None  #: The cluster's nodes or domains.
    #: What an autoscaler adds for replicas; None where its node groups are not known.
    scale_ups: ScaleUps | None = None
    today: date | None = None  #: The day by which exemptions expire.


@dataclass(slots=True)
class LintOutcome:
    """The outcome of a run."""

    result: LintResult = field(default_factory=LintResult)  #: The findings.
    loaded: LoadedManifests = field(default_factory=LoadedManifests)  #: The objects that were read.
    skipped: list[Skipped] = field(default_factory=list)  #: What was skipped and why.
    problems: list[Finding] = field(default_factory=list)  #: What cannot be read.

    def read_of(self, texts: Iterable[Text]) -> list[str]:
        """Return the files of texts that were read, as findings name them."""
        whole = {entry.location.file for entry in self.skipped if not entry.is_partial and not entry.title}
        whole -= {entry.document.file for entry in self.loaded.manifests}
        return [file for file in dict.fromkeys(text.file for text in texts) if file not in whole]


def lint_texts(texts: Iterable[Text], job: LintJob, show: Callable[[float], None]) -> LintOutcome:
    """Run the rules on every workload of the texts.

    Args:
        texts: What to read.
        job: What to lint by.
        show: Called now and then with the share of the work that is done, from 0 to 1.
    """
    outcome = LintOutcome()
    loaded = outcome.loaded = _read([part for text in texts for part in pieces(text)], job, outcome, show)
    outcome.result = lint_loaded(
        loaded,
        loaded.repository,
        job.context,
        selection=job.selection,
        inventory=job.inventory,
        scale_ups=job.scale_ups,
        today=job.today,
        progress=_counter(len(loaded.workloads), show),
    )
    merge_builds(outcome.result)
    return outcome


def _read(
    parts: list[Text], job: LintJob, outcome: LintOutcome, show: Callable[[float], None]
) -> LoadedManifests:
    """Return the objects of texts but for files that cannot be read to their end."""
    size, read = sum(len(part.content) for part in parts) or 1, 0
    broken: set[str] = set()
    loaded = LoadedManifests()
    for part in parts:
        parsed = parse(part)
        found = load_manifests(parsed.objects, job.context)
        found.read_parts()
        loaded.workloads += found.workloads
        loaded.others += found.others
        outcome.skipped += parsed.skipped
        outcome.problems += parsed.problems
        if parsed.problems:
            broken.add(part.file)
        read += len(part.content)
        show(READING_SHARE * read / size)
    if broken:
        loaded.workloads = [entry for entry in loaded.workloads if entry.manifest.document.file not in broken]
        loaded.others = [entry for entry in loaded.others if entry.document.file not in broken]
    return loaded


def _counter(workloads: int, show: Callable[[float], None]) -> Callable[[], None]:
    """Return the function to call after each workload, which reports the share that is done."""
    numbers = iter(range(1, workloads + 1))

    def judged() -> None:
        show(READING_SHARE + (1 - READING_SHARE) * next(numbers) / workloads)

    return judged


def build_job(
    config: LintConfig,
    *,
    today: date,
    warn: Callable[[str], None],
    cluster: ClusterIndex | None = None,
    scale_ups: Callable[[AdmissionContext], ScaleUps] | None = None,
) -> LintJob:
    """Return the job that lints texts.

    Args:
        config: The options.
        today: The day.
        warn: Called with each line about the release, and about what was left out of the cluster's file.
        cluster: The nodes of a cluster, in place of a file.
        scale_ups: Returns what an autoscaler adds; None where its node groups are not known.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is invalid.
        UsageError: Options contradict each other, or leave no rule that can run.
    """
    context = load_context(
        lambda name: read_text(name, named=True).content,
        policies=config.policies,
        scheduler_config=config.scheduler_config,
        kubernetes_version=config.kubernetes_version,
        workload_kinds=config.workload_kinds,
    )
    if newer := unknown_release(context.kubernetes_version):
        warn(newer)
    for policy in context.policies:
        for rule in policy.rules:
            if rule not in all_rules():
                warn(f"policy {policy.name}: spec.rules[{shown_name(rule)}]: {unknown_rule(rule)}")
    if cluster is None and config.cluster:
        cluster = _read_cluster(config.cluster, warn)
    context, inventory = _with_cluster(context, cluster)
    job = LintJob(
        context=context,
        selection=Selection(
            select=frozenset(config.select) if config.select else None,
            ignore=frozenset(config.ignore),
            enable=frozenset(config.enable),
        ),
        inventory=inventory,
        scale_ups=None if scale_ups is None else scale_ups(context),
        today=today,
    )
    _check_rules(job)
    return job


def _check_rules(job: LintJob) -> None:
    """Raise if no rule is left that can run.

    Raises:
        UsageError: None is, so that nothing would be judged.
    """
    selected = [
        rule
        for rule in job.selection.rules(job.context.policies)
        if rule.target is not RuleTarget.NEXT_POD
        and (rule.target is not RuleTarget.FILE or rule.id in (job.selection.select or ()))
    ]
    if not selected:
        raise UsageError("no rule is left to run: see --select and --ignore")
    if not any(knows_enough(rule, job.inventory, job.scale_ups) for rule in selected):
        raise UsageError(f"{', '.join(rule.id for rule in selected)}: {NO_INVENTORY}")


def _with_cluster(
    context: AdmissionContext, index: ClusterIndex | None
) -> tuple[AdmissionContext, ClusterTopology | None]:
    """Return the context with the cluster, and what is known of its nodes and domains."""
    domains = listed_domains(context.policies)
    if index is None:
        return context, ClusterTopology(domains=domains) if domains else None
    storage, classes = KnownStorage(index.storage, index.reading), tuple(index.priority_classes)
    known = ClusterTopology(index.nodes.listed(), domains, storage, classes)
    return replace(context, cluster=index), known


def _read_cluster(file: str, warn: Callable[[str], None]) -> ClusterIndex:
    from webhook import snapshot_file

    return snapshot_file.read_snapshot(file, warn=warn)


def without_objects(
    paths: Iterable[str], read: Iterable[ManifestObject], skipped: Iterable[Skipped], problems: list[Finding]
) -> list[Skipped]:
    """Return the paths as skipped, if they hold no object and nothing else says so.

    Args:
        paths: The paths that were given.
        read: The objects that were read of them.
        skipped: What was skipped.
        problems: Why files cannot be read.
    """
    if problems or any(True for _ in read) or any(not entry.is_partial for entry in skipped):
        return []
    return [
        Skipped(
            location=Location(shown_file(path)),
            kind=SourceKind.FOLDER if Path(path).is_dir() else SourceKind.FILE,
            reason=SkipReason.NO_OBJECTS,
            message="no Kubernetes object in it",
            named=True,
        )
        for path in paths
    ]


def without_ignored(
    problems: Iterable[Finding], missing: Iterable[str], config: LintConfig
) -> tuple[list[Finding], list[Skipped]]:
    """Return the problems that count, and those that the options ignore as skipped files.

    Args:
        problems: Why files cannot be read.
        missing: Files that were given by name and cannot be opened, which is never ignored.
        config: The options.
    """
    if UNREADABLE not in config.ignore:
        return list(problems), []
    given = set(map(shown_file, missing))
    counting: list[Finding] = []
    skipped: list[Skipped] = []
    for problem in problems:
        if problem.location.file in given:
            counting.append(problem)
        else:
            skipped.append(unreadable_source(problem))
    return counting, skipped


def unreadable_source(problem: Finding) -> Skipped:
    """Return a file that cannot be read as something that was skipped."""
    return Skipped(
        location=problem.location,
        kind=SourceKind.FILE,
        reason=SkipReason.UNREADABLE,
        message=problem.message,
    )


def as_named(skipped: list[Skipped], result: LintResult) -> list[Skipped]:
    """Return the skipped sources; where they leave none to judge, as named by the user."""
    judged = result.workloads + result.custom_resources
    return as_all_there_is(skipped, workloads=judged, objects=judged + result.others)
