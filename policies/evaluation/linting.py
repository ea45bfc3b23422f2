"""Rules over the objects of a repository, or over one: which are asked, and what becomes of a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from policies.documents.rule_params import build_params
from policies.documents.spread_policy import RuleSettings, SpreadPolicy
from policies.evaluation.context import AdmissionContext
from policies.evaluation.exemptions import IGNORE_ANNOTATION, Exemptions, read_exemptions
from policies.evaluation.subject import Subject
from policies.fields import MAX_ERRORS, ErrorList, FieldError, FieldPath
from policies.findings import Finding, Severity
from policies.manifests import ManifestObject
from policies.model.constraint import Constraint
from policies.model.declared import DeclaredConstraint, Workload
from policies.model.injecting import extract
from policies.model.inventory import Inventory
from policies.model.own_selector import is_patch
from policies.model.placeholders import has_placeholder
from policies.model.repository import Repository, is_scheduler_config
from policies.rules import base
from policies.rules.base import Context, Problem, Rule, all_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rules are asked.

    Attributes:
        select: The ids that are asked; None for all.
        ignore: The ids that are not.
    """

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()

    def rules(self) -> list[Rule]:
        """Return the rules, in the order of their ids."""
        return [
            rule
            for rule in all_rules().values()
            if (self.select is None or rule.id in self.select) and rule.id not in self.ignore
        ]


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that an annotation takes out of force, and why."""

    finding: Finding
    reason: str


@dataclass(slots=True)
class LintResult:
    """What a run found.

    Attributes:
        findings: In the order of the files and lines.
        suppressed: What annotations took out of force.
        skipped: Rules that could not be asked, and why, by id.
        workloads: How many pods and workloads were looked at.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Suppressed] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    workloads: int = 0


@dataclass(frozen=True, slots=True)
class Declared:
    """A workload and where it stands."""

    workload: Workload
    subject: Subject
    manifest: ManifestObject


#: The rule that an exemption breaks which exempts from nothing.
EXEMPTION_WITHOUT_EFFECT = "exemption-without-effect"
_NO_SETTINGS = RuleSettings()
#: Why a rule is skipped that must know where pods could go.
NO_INVENTORY = "needs the cluster's nodes (--cluster) or its domains (topology of a SpreadPolicy)"


def declare(manifest: ManifestObject, context: AdmissionContext) -> Declared | None:
    """Return a manifest as a workload, None if it is none."""
    obj = manifest.value
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    group = version.rpartition("/")[0] if "/" in version else ""
    known = context.kinds.find(group, kind)
    if known is None:
        return None
    subject = Subject.read(obj, known, _text(obj.get("metadata"), "namespace"))
    errors = subject.errors(subject.merge_state(subject), strict=context.strict)
    workload = workload_of(subject, errors=errors, folder=folder_of(manifest))
    return Declared(_without_open(workload), subject, manifest)


def _without_open(workload: Workload) -> Workload:
    """Return a workload without what cannot be judged before another tool completes the manifest.

    That are constraints with placeholders, all of them where the pods' labels have some, and what a patch
    leaves to the manifest that it is merged into.
    """
    if has_placeholder(workload.labels):
        return replace(workload, constraints=(), errors=())
    if any(has_placeholder(declared.constraint.topology_key) for declared in workload.constraints):
        kept = (entry for entry in workload.constraints if not has_placeholder(entry.raw))
        workload = replace(workload, constraints=tuple(kept))
    if not workload.errors:
        return workload
    return replace(
        workload, errors=tuple(error for error in workload.errors if not _is_open(workload, error))
    )


def _is_open(workload: Workload, error: FieldError) -> bool:
    """Tell whether an error may be gone once the manifest is complete."""
    node: Any = workload.obj
    for name in error.path.segments:
        try:
            node = node[name]
        except (KeyError, IndexError, TypeError):
            return is_patch(workload)
    # Kustomize's directives, such as ``$patch: delete``.
    directive = str(error.path.segments[-1]).startswith("$") and is_patch(workload)
    return directive or has_placeholder(node)


def workload_of(subject: Subject, *, errors: Iterable[FieldError], folder: str = "") -> Workload:
    """Return what rules look at of an object.

    Args:
        subject: The object.
        errors: What is wrong with its constraints (``Subject.errors``).
        folder: The folder of its file.
    """
    errors = tuple(errors)
    path = subject.kind.constraints_path
    raw = subject.pod.constraints
    broken = {error.path.segments[: len(path.segments) + 1] for error in errors}
    # After so many errors reading stopped: nobody knows what is wrong with the rest.
    entries = enumerate(raw) if isinstance(raw, list) and len(errors) < MAX_ERRORS else ()
    constraints = tuple(
        DeclaredConstraint(constraint=Constraint.parse(entry), path=path.index(position), raw=entry)
        for position, entry in entries
        if path.index(position).segments not in broken and path.segments not in broken
    )
    return Workload(
        obj=subject.obj,
        kind=subject.kind,
        namespace=subject.namespace,
        name=_text(subject.metadata, "name"),
        labels=subject.pod.labels,
        constraints=constraints,
        errors=errors,
        folder=folder,
    )


def folder_of(manifest: ManifestObject) -> str:
    """Return the folder of a manifest's file, empty where it has none."""
    return manifest.document.file.rpartition("/")[0]


@dataclass(slots=True)
class Gathered:
    """The objects of a repository, or of a part of it.

    Attributes:
        declared: The workloads, in their order.
        others: The other objects.
    """

    declared: list[Declared] = field(default_factory=list)
    others: list[ManifestObject] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        """The objects that are applied together, as rules look at them."""
        workloads = (entry.workload for entry in self.declared)
        others = (entry.value for entry in self.others)
        return Repository.of(workloads, others, map(folder_of, self.others))


def gather(manifests: Iterable[ManifestObject], context: AdmissionContext) -> Gathered:
    """Tell workloads from other objects."""
    gathered = Gathered()
    for manifest in manifests:
        found = declare(manifest, context)
        if found is None:
            gathered.others.append(manifest)
        else:
            gathered.declared.append(found)
    return gathered


def lint(
    manifests: Iterable[ManifestObject],
    context: AdmissionContext,
    *,
    selection: Selection | None = None,
    inventory: Inventory | None = None,
    today: date | None = None,
) -> LintResult:
    """Ask every selected rule of every workload.

    Args:
        manifests: What is applied together.
        context: Policies, which set severities and parameters in their scope; the release; the kinds.
        selection: Which rules are asked; None for all.
        inventory: What is known of the cluster's nodes and domains.
        today: The day by which the expiry of exemptions is judged; None to let every exemption hold.
    """
    gathered = gather(manifests, context)
    return lint_gathered(
        gathered, gathered.repository, context, selection=selection, inventory=inventory, today=today
    )


def lint_gathered(
    gathered: Gathered,
    repository: Repository,
    context: AdmissionContext,
    *,
    selection: Selection | None = None,
    inventory: Inventory | None = None,
    today: date | None = None,
) -> LintResult:
    """Ask every selected rule of the workloads of a part of a repository; see ``lint``."""
    result = LintResult(workloads=len(gathered.declared))
    rules = []
    for rule in (selection or Selection()).rules():
        if rule.needs_inventory and inventory is None:
            result.skipped[rule.id] = NO_INVENTORY
        else:
            rules.append(rule)
    around = Context(version=context.kubernetes_version, repository=repository, inventory=inventory)
    # Most workloads get no settings of a policy: what each rule is given then is made once.
    of_workloads = [
        (rule, _context_of(rule, around, {})) for rule in rules if rule.subject is base.Subject.WORKLOAD
    ]
    for entry in gathered.declared:
        _lint_one(entry, of_workloads, around, context, result, today=today)
    of_others = [rule for rule in rules if rule.subject is not base.Subject.WORKLOAD]
    for manifest in gathered.others if of_others else ():
        _lint_other(manifest, of_others, around, context, result, today=today)
    result.findings.sort(key=lambda finding: (finding.location.file, finding.location.line, finding.rule))
    return result


def problems_of(subject: object, rule: Rule, around: Context, params: Mapping[str, Any]) -> list[Problem]:
    """Return what one rule finds in one workload, or in another subject that it looks at.

    Args:
        subject: The workload, or what else the rule looks at.
        rule: The rule.
        around: What the rule is given besides.
        params: The settings that a policy gives it.
    """
    return list(rule.check(subject, _context_of(rule, around, params)))


def _context_of(rule: Rule, around: Context, params: Mapping[str, Any]) -> Context:
    return around if rule.params is None else replace(around, params=build_params(rule.params, params))


def _lint_one(
    entry: Declared,
    rules: list[tuple[Rule, Context]],
    around: Context,
    context: AdmissionContext,
    result: LintResult,
    *,
    today: date | None,
) -> None:
    policies = context.policies_for(entry.subject)
    if context.policies and not policies:
        return  # In nobody's scope, as at admission.
    exemptions = read_exemptions(entry.subject.annotations, entry.subject.pod.annotations, today=today)
    way = FieldPath() if IGNORE_ANNOTATION in entry.subject.annotations else entry.workload.pod_path
    result.findings += _exemption_findings(entry.manifest, way, exemptions, title=entry.workload.title)
    for rule, plain in rules:
        settings = rule_settings(policies, rule.id) if policies else _NO_SETTINGS
        given = _context_of(rule, around, settings.params) if settings.params else plain
        for problem in rule.check(entry.workload, given):
            finding = _finding(problem, rule, settings, entry.manifest, title=entry.workload.title)
            _record(finding, exemptions, result)


def _lint_other(
    manifest: ManifestObject,
    rules: list[Rule],
    around: Context,
    context: AdmissionContext,
    result: LintResult,
    *,
    today: date | None,
) -> None:
    """Ask rules of an object that is no workload, if it is one that they look at.

    It is for the whole cluster, so it is in everybody's scope; only settings depend on it.
    """
    obj = manifest.value
    subjects: dict[base.Subject, list[Any]] = {base.Subject.INJECTION: list(extract(obj))}
    if is_scheduler_config(obj):
        subjects[base.Subject.SCHEDULER_CONFIG] = [obj]
    if not any(subjects.values()):
        return
    metadata = ErrorList().mapping(obj.get("metadata"), FieldPath())
    annotations = ErrorList().labels(metadata.get("annotations"), FieldPath())
    exemptions = read_exemptions(annotations, {}, today=today)
    title = f"{obj['kind']} {_text(obj.get('metadata'), 'name')}".rstrip()
    result.findings += _exemption_findings(manifest, FieldPath(), exemptions, title=title)
    own, kinds = ErrorList().labels(metadata.get("labels"), FieldPath()), frozenset([str(obj["kind"])])
    namespace = _text(obj.get("metadata"), "namespace")
    policies = [entry for entry in context.policies if entry.scope.matches(namespace, None, own, kinds)]
    for rule in rules:
        settings = rule_settings(policies, rule.id)
        for subject in subjects.get(rule.subject, ()):
            for problem in problems_of(subject, rule, around, settings.params):
                _record(_finding(problem, rule, settings, manifest, title=title), exemptions, result)


def _finding(
    problem: Problem, rule: Rule, settings: RuleSettings, manifest: ManifestObject, *, title: str
) -> Finding:
    return Finding(
        severity=settings.severity or rule.severity,
        location=manifest.location(problem.path),
        path=problem.path,
        message=problem.message,
        rule=rule.id,
        title=title,
        fixable=bool(problem.edits),
    )


def _record(finding: Finding, exemptions: Exemptions, result: LintResult) -> None:
    if finding.rule in exemptions.reasons:
        result.suppressed.append(Suppressed(finding, exemptions.reasons[finding.rule]))
    else:
        result.findings.append(finding)


def _exemption_findings(
    manifest: ManifestObject, way: FieldPath, exemptions: Exemptions, *, title: str
) -> Iterator[Finding]:
    """Yield what is wrong with an object's exemptions: each leaves a rule in force that it names."""
    if not exemptions.problems:
        return
    path = way.child("metadata", "annotations").key(IGNORE_ANNOTATION)
    for problem in exemptions.problems:
        message = problem.removeprefix(f"{IGNORE_ANNOTATION}: ")
        yield Finding(
            Severity.WARNING,
            manifest.location(path),
            path,
            message,
            EXEMPTION_WITHOUT_EFFECT,
            title=title,
        )


def rule_settings(policies: Iterable[SpreadPolicy], rule: str) -> RuleSettings:
    """Return the settings of the first policy that says something of a rule."""
    found = (policy.rules[rule] for policy in policies if rule in policy.rules)
    return next(found, _NO_SETTINGS)


def _text(parent: object, name: str) -> str:
    value = parent.get(name) if isinstance(parent, dict) else None
    return value if isinstance(value, str) else ""
