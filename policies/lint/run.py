"""Rules on the objects of a repository: which run, and what becomes of a finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.config.enforcement import (
    IGNORE_ANNOTATION,
    NO_SETTINGS,
    EnforcementTarget,
    Exempting,
    read_exemptions,
    rule_settings,
)
from policies.config.spread_policy import RuleSettings, SpreadPolicy
from policies.lint.exemptions import (
    EXEMPTION_WITHOUT_EFFECT,
    AnnotatedObject,
    Suppressed,
    SuppressedBy,
    in_force,
)
from policies.lint.workload_loader import LoadedManifests, ManifestWorkload, load_manifests
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import MAX_ERRORS, ErrorList, FieldError, FieldPath, cut_rules, text_member
from policies.manifests.findings import Finding
from policies.manifests.origins import at_origin
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from policies.model.embedded import embedded_errors, embedded_lists
from policies.model.foreign_policies.detect import extract
from policies.model.repository import Repository, is_scheduler_config
from policies.model.scaling import ScaleUps
from policies.model.topology import ClusterTopology
from policies.rules import base
from policies.rules.base import Context, MissingObjectError, Problem, Rule, all_rules
from policies.scheduler.capacity import UndecidedError
from policies.scheduler.configuration import UnknownSchedulerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rules run."""

    select: frozenset[str] | None = None  #: The ids of rules that run; None for all but the opt-in rules.
    ignore: frozenset[str] = frozenset()  #: The ids of rules that do not.
    enable: frozenset[str] = frozenset()  #: The opt-in rules that run besides.

    def rules(self, policies: Iterable[SpreadPolicy] = ()) -> list[Rule]:
        """Return the rules, in the order of their ids; an opt-in rule also where a policy names it."""
        named = {rule for policy in policies for rule in policy.rules} if self.select is None else set()
        return [
            rule
            for rule in all_rules().values()
            if (self.runs_everywhere(rule) or rule.id in named) and rule.id not in self.ignore
        ]

    def runs_everywhere(self, rule: Rule) -> bool:
        """Return whether a rule runs on every object, not only in the scope of a policy that names it."""
        if rule.target is base.RuleTarget.FILE:
            return True
        if self.select is not None:
            return rule.id in self.select or rule.id in self.enable
        return not rule.opt_in or rule.id in self.enable


@dataclass(slots=True)
class LintResult:
    """The result of a run."""

    findings: list[Finding] = field(default_factory=list)  #: In the order of the files and lines.
    #: What annotations, exceptions of policies, and node groups took out of force.
    suppressed: list[Suppressed] = field(default_factory=list)
    #: Rules that could not run, at least not on every workload, and why, by id.
    skipped: dict[str, str] = field(default_factory=dict)
    #: Objects that have more errors of a rule than are listed, that a rule gave up, or that are in no
    #: policy's scope.
    cut: list[Skipped] = field(default_factory=list)
    #: How many pods and workloads were judged: those in the scope of a policy, if there is one.
    workloads: int = 0
    #: How many other custom resources have constraints, on which only the API's rules ran.
    custom_resources: int = 0
    others: int = 0  #: How many objects there are besides.


#: What comes of it where errors of constraints are left out: which of the constraints are good is not known.
_CONSTRAINTS_NOT_JUDGED = ", and no other rule looked at its constraints"
#: Why an object is not judged, or not what it leaves out.
_UNJUDGED: Final = {
    SkipReason.NO_POD_TEMPLATE: "no spec of pods in it: a patch, or else the API server refuses it",
    SkipReason.PATCH: "taken for a patch, without containers or labels of pods: what it lacks is not judged",
}
#: Why a rule is not checked on one workload, by what its check ends with.
_UNCHECKED: Final[dict[type[Exception], SkipReason]] = {
    UndecidedError: SkipReason.LIMIT_EXCEEDED,
    UnknownSchedulerError: SkipReason.UNKNOWN_SCHEDULER,
}
#: Why a rule is skipped that must know where pods could go.
NO_INVENTORY = (
    "needs the cluster's nodes (--live, --cluster), node groups (--autoscale) or domains (topology of a "
    "SpreadPolicy)"
)


def lint(
    manifests: Iterable[ManifestObject],
    context: AdmissionContext,
    *,
    selection: Selection | None = None,
    inventory: ClusterTopology | None = None,
    today: date | None = None,
) -> LintResult:
    """Run every selected rule on every workload.

    Args:
        manifests: What is applied together.
        context: Policies, which set severities and parameters in their scope; the release; the kinds.
        selection: Which rules run; None for all.
        inventory: What is known of the cluster's nodes and domains.
        today: The day for the expiry of exemptions; None lets every exemption hold.
    """
    loaded = load_manifests(manifests, context)
    return lint_loaded(
        loaded, loaded.repository, context, selection=selection, inventory=inventory, today=today
    )


def lint_loaded(
    loaded: LoadedManifests,
    repository: Repository,
    context: AdmissionContext,
    *,
    selection: Selection | None = None,
    inventory: ClusterTopology | None = None,
    scale_ups: ScaleUps | None = None,
    today: date | None = None,
    progress: Callable[[], None] | None = None,
) -> LintResult:
    """Run every selected rule on the workloads of a part of a repository; see ``lint``.

    Args:
        loaded: The part.
        repository: The whole.
        context: As for ``lint``.
        selection: As for ``lint``.
        inventory: As for ``lint``.
        scale_ups: What an autoscaler adds for replicas; None where its node groups are not known.
        today: As for ``lint``.
        progress: Called after each workload.
    """
    result = LintResult()
    rules, selection = [], selection or Selection()
    for rule in selection.rules(context.policies):
        if rule.target is base.RuleTarget.NEXT_POD:
            continue
        if not knows_enough(rule, inventory, scale_ups):
            result.skipped[rule.id] = NO_INVENTORY
        else:
            rules.append(rule)
    given = Context(
        version=context.kubernetes_version,
        repository=repository,
        inventory=inventory,
        scale_ups=scale_ups,
        scheduler=context.scheduler,
    )
    # Most workloads get no settings of a policy: what each rule is given then is made once.
    of_workloads, of_manifests = (
        [
            (rule, rule.context_for(given, {}) if selection.runs_everywhere(rule) else None)
            for rule in rules
            if rule.target is subject
        ]
        for subject in (base.RuleTarget.WORKLOAD, base.RuleTarget.MANIFEST)
    )
    # Most workloads have the same few parts: which rules may find something is found out once for each.
    by_parts: dict[frozenset[str], list[tuple[Rule, Context | None]]] = {}
    for workload in loaded.workloads:
        parts = workload.parts | workload.broken_rules
        if (about := by_parts.get(parts)) is None:
            about = by_parts[parts] = [entry for entry in of_workloads if entry[0].may_find(parts)]
        runs: list[tuple[object, list[tuple[Rule, Context | None]]]] = [(workload, about)]
        if workload.manifest.document.repeated:
            runs.append((workload.manifest, of_manifests))
        _lint_one(workload, runs, given, context, result, today=today)
        if progress is not None:
            progress()
    for manifest in loaded.others:
        _lint_other(manifest, rules, given, context, result, today=today)
    if EXEMPTION_WITHOUT_EFFECT in selection.ignore:
        result.findings = [entry for entry in result.findings if entry.rule != EXEMPTION_WITHOUT_EFFECT]
    result.findings.sort(key=lambda finding: (finding.location.file, finding.location.line, finding.rule))
    return result


def knows_enough(rule: Rule, inventory: ClusterTopology | None, scale_ups: ScaleUps | None) -> bool:
    """Return whether a rule can run by what is known of nodes that there are, or that may come."""
    return not rule.needs_inventory or inventory is not None or (rule.decidable and scale_ups is not None)


def _lint_one(
    workload: ManifestWorkload,
    runs: Sequence[tuple[object, list[tuple[Rule, Context | None]]]],
    given: Context,
    context: AdmissionContext,
    result: LintResult,
    *,
    today: date | None,
) -> None:
    policies = context.policies_for(workload)
    if context.policies and not policies:
        result.cut.append(_out_of_scope(workload.manifest, workload.title))
        return
    _count(workload, result)
    found: list[Finding] = []
    for subject, rules in runs:
        for rule, plain in rules:
            settings = rule_settings(policies, rule.id) if policies else NO_SETTINGS
            if plain is None and settings is NO_SETTINGS:
                continue  # An opt-in rule that no policy of this scope names.
            own = plain if plain and not settings.params else rule.context_for(given, settings.params)
            try:
                # Most rules find nothing: starting a generator for each took 4 % of a run.
                for problem in rule.check(subject, own):
                    finding = _finding(problem, rule, settings, workload.manifest, title=workload.title)
                    found.append(finding)
            except tuple(_UNCHECKED) as error:
                why, reason = f"{rule.id} was not checked: {error}", _UNCHECKED[type(error)]
                result.cut.append(_cut_short(workload.manifest, workload.title, why, reason))
            except MissingObjectError as error:
                result.skipped[rule.id] = str(error)
            except Exception as error:
                error.add_note(rule.note)
                raise
    result.cut += _cut_of(workload)
    of_workload = chain.from_iterable(rules for subject, rules in runs if subject is workload)
    _add_withdrawn(workload, of_workload, policies, given, result, found=found)
    is_annotated = IGNORE_ANNOTATION in workload.annotations
    if is_annotated or IGNORE_ANNOTATION in workload.template.annotations or (found and policies):
        way = FieldPath() if is_annotated else workload.pod_path
        by_controller = context.made_by_controller(workload)
        exempting = Exempting.of(workload, policies, by_controller=by_controller, today=today)
        _record(found, exempting, result, AnnotatedObject(workload.manifest, way, workload.title))
    else:
        # Nothing could exempt it.
        result.findings += found


def _count(workload: ManifestWorkload, result: LintResult) -> None:
    """Count a workload as judged, unless there is nothing to judge, and record what of it is left out."""
    if (reason := workload.unjudged) is not None:
        result.cut.append(_cut_short(workload.manifest, workload.title, _UNJUDGED[reason], reason))
    result.workloads += reason is not SkipReason.NO_POD_TEMPLATE


def _add_withdrawn(
    workload: ManifestWorkload,
    rules: Iterable[tuple[Rule, Context | None]],
    policies: Sequence[SpreadPolicy],
    given: Context,
    result: LintResult,
    *,
    found: Iterable[Finding],
) -> None:
    """Record what rules find in a workload by rules of thumb alone, and which of them were not decided.

    Args:
        workload: The workload.
        rules: The rules that were run on it.
        policies: Those in whose scope it is.
        given: What the rules were given, with node groups.
        result: Takes it.
        found: What they found.
    """
    known, manifest = given.scale_ups, workload.manifest
    if known is None:
        return
    kept = {(each.rule, each.location, each.path) for each in found}
    without = replace(given, scale_ups=None, by_default={})
    for rule, plain in rules:
        settings = rule_settings(policies, rule.id)
        if not rule.decidable or (plain is None and settings is NO_SETTINGS):
            continue
        # What cannot be known without node groups would not have been found.
        with suppress(UndecidedError, MissingObjectError):
            for problem in rule.run(workload, without, settings.params):
                finding = _finding(problem, rule, settings, manifest, title=workload.title)
                if (rule.id, finding.location, finding.path) not in kept:
                    reason = f"does not happen{given.decided_with}"
                    result.suppressed.append(Suppressed(finding, reason, SuppressedBy.NODE_GROUPS))
    if why := known.undecided(workload):
        text = f"not all of its rules are decided with {known.source}: {why}"
        result.cut.append(_cut_short(manifest, workload.title, text, SkipReason.UNDECIDED))


def _lint_other(
    manifest: ManifestObject,
    rules: list[Rule],
    given: Context,
    context: AdmissionContext,
    result: LintResult,
    *,
    today: date | None,
) -> None:
    """Run rules on an object that is no workload, if it is one that they look at.

    It is for the whole cluster, so it is in every scope; only settings depend on it.
    """
    obj = manifest.value
    subjects: dict[base.RuleTarget, list[Any]] = {base.RuleTarget.INJECTION: list(extract(obj))}
    if is_scheduler_config(obj):
        subjects[base.RuleTarget.SCHEDULER_CONFIG] = [obj]
    if manifest.document.repeated:
        subjects[base.RuleTarget.MANIFEST] = [manifest]
    embedded = list(embedded_lists(obj))
    if not any(subjects.values()) and not embedded:
        result.others += 1
        return
    metadata = ErrorList().mapping(obj.get("metadata"), FieldPath())
    annotations = ErrorList().labels(metadata.get("annotations"), FieldPath())
    title = f"{obj['kind']} {text_member(obj.get('metadata'), 'name')}".rstrip()
    own, kinds = ErrorList().labels(metadata.get("labels"), FieldPath()), frozenset([str(obj["kind"])])
    namespace = text_member(obj.get("metadata"), "namespace")
    policies = [entry for entry in context.policies if entry.scope.matches(namespace, None, own, kinds)]
    name = text_member(metadata, "name")
    exempting = Exempting(
        policies=policies,
        annotated=read_exemptions(annotations, {}, today=today),
        target=EnforcementTarget(namespace, kinds, (name,)),
        today=today,
    )
    found: list[Finding] = []
    in_scope = embedded if policies or not context.policies else []
    if embedded and not in_scope:
        result.cut.append(_out_of_scope(manifest, title))
    result.custom_resources += bool(in_scope)
    result.others += not embedded
    of_lists = [embedded_errors(path, entries) for path, entries in in_scope]
    result.cut += _cut(
        manifest, title, dict.fromkeys(rule for errors in of_lists for rule in cut_rules(errors))
    )
    of_rules = _embedded_problems(obj, chain.from_iterable(of_lists))
    for rule in rules:
        settings, problems = rule_settings(policies, rule.id), list(of_rules.get(rule.id, ()))
        for subject in subjects.get(rule.target, ()):
            problems += rule.run(subject, given, settings.params)
        found += (_finding(problem, rule, settings, manifest, title=title) for problem in problems)
    _record(found, exempting, result, AnnotatedObject(manifest, FieldPath(), title))


def _record(
    found: Iterable[Finding], exempting: Exempting, result: LintResult, annotated: AnnotatedObject
) -> None:
    findings, suppressed = in_force(found, exempting, annotated)
    result.findings += findings
    result.suppressed += suppressed


def _cut_of(workload: ManifestWorkload) -> Iterator[Skipped]:
    """Yield a word for each rule of which a workload has more errors than are listed: for most, none."""
    of_terms = cut_rules(workload.pod_affinity.errors)
    for rules, more in ((workload.cut_rules, _CONSTRAINTS_NOT_JUDGED), (of_terms, "")):
        if rules:
            yield from _cut(workload.manifest, workload.title, rules, more)


def _cut(manifest: ManifestObject, title: str, rules: Iterable[str], more: str = "") -> Iterator[Skipped]:
    """Yield a word for each rule of which an object has more errors than are listed."""
    for rule in rules:
        message = f"{MAX_ERRORS} or more errors of {rule}: others are not listed{more}"
        yield _beyond_limit(manifest, title, message)


def _out_of_scope(manifest: ManifestObject, title: str) -> Skipped:
    """Return an object on which no rule runs, as none does at admission."""
    return Skipped(
        location=manifest.location(FieldPath()),
        kind=SourceKind.OBJECT,
        reason=SkipReason.OUT_OF_SCOPE,
        message="in no policy's scope, so no rule was run",
        title=title,
    )


def _beyond_limit(manifest: ManifestObject, title: str, message: str) -> Skipped:
    return _cut_short(manifest, title, message, SkipReason.LIMIT_EXCEEDED)


def _cut_short(manifest: ManifestObject, title: str, message: str, reason: SkipReason) -> Skipped:
    """Return an object that was not judged to its end."""
    return Skipped(
        location=manifest.location(FieldPath()),
        kind=SourceKind.OBJECT,
        reason=reason,
        message=message,
        title=title,
    )


def _embedded_problems(obj: Mapping[str, Any], errors: Iterable[FieldError]) -> dict[str, list[Problem]]:
    """Return the problems of a custom resource's constraints by the API's rules, by the rule."""
    found: dict[str, list[Problem]] = defaultdict(list)
    why = f"only the API's rules were run: the controller of a {obj['kind']} makes its pods"
    for error in errors:
        found[error.rule].append(Problem(error.path, f"{error.problem} ({why})"))
    return found


def _finding(
    problem: Problem, rule: Rule, settings: RuleSettings, manifest: ManifestObject, *, title: str
) -> Finding:
    location = manifest.location(problem.path)
    finding = Finding(
        severity=settings.severity or problem.severity or rule.severity,
        location=location,
        path=problem.path,
        message=problem.message,
        rule=rule.id,
        title=title,
        # What has no line was made by a tool: only what it was made from could be fixed.
        fixable=bool(problem.edits) and location.line > 0,
    )
    return at_origin(finding, manifest, problem.edits)
