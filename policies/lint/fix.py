"""Mend what rules find and know how to mend, in the texts of files. Opens and writes none itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from policies.admission.injection import Injection, Skip, plan_injection
from policies.config.context import AdmissionContext
from policies.config.enforcement import rule_settings
from policies.config.exemptions import read_exemptions
from policies.config.spread_policy import InjectAt, SpreadPolicy
from policies.config.subject import Subject
from policies.config.workload_loader import Declared, Gathered, gather
from policies.lint.fix_edits import Fix, TextFixes, compatible_fixes
from policies.lint.fix_targets import INJECTION, Fixable, fixes_of
from policies.lint.merge_builds import merge_builds
from policies.lint.run import LintResult, Selection, lint_gathered, problems_of
from policies.lint.workspace import Workspace
from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.json_patch import segments_of
from policies.manifests.kustomize_layers import TextKey
from policies.manifests.rewrite import RewriteRefusal
from policies.model.topology import ClusterTopology
from policies.rules import base
from policies.rules.base import Context, Rule

#: Rounds after which no further repair is looked for (one may make room for another): no two rules
#: need more than two.
MAX_ROUNDS = 5
#: Reasons for getting no defaults that the author of a manifest can do something about.
_WORTH_A_WORD = frozenset({Skip.NO_OWN_SELECTOR, Skip.INVALID, Skip.NO_DEFAULTS})


@dataclass(slots=True)
class FixResult:
    """What became of a run.

    Attributes:
        texts: The files that changed, with their new content.
        made: What was mended.
        refused: What could be mended but not written safely, and why.
        skipped: Workloads that got no defaults, and why, a line each.
        unreadable: What is wrong with files that cannot be read; they are left alone.
        left: What lint finds afterwards.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    made: list[Fix] = field(default_factory=list)
    refused: list[tuple[Fix, RewriteRefusal]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left: LintResult = field(default_factory=LintResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixing:
    """What files are mended by.

    Attributes:
        context: Policies, the release, the kinds.
        selection: The rules that are asked.
        inventory: What is known of the cluster's nodes and domains.
        today: The day by which the expiry of exemptions is judged; None to let every exemption hold.
        inject: Whether workloads without constraints get the policies' defaults.
    """

    context: AdmissionContext
    selection: Selection = field(default_factory=Selection)
    inventory: ClusterTopology | None = None
    today: date | None = None
    inject: bool = False

    def fix(
        self,
        files: Mapping[str, bytes],
        built: Sequence[ManifestObject] = (),
        read: Callable[[str], bytes] = lambda _file: b"",
    ) -> FixResult:
        """Mend files that are applied together, round after round until nothing is left to mend.

        Args:
            files: The files that are applied as they stand.
            built: The objects that kustomize built of others.
            read: Returns the content of one of those.
        """
        space = Workspace(files, list(built), read)
        result = FixResult(texts=space.changed, unreadable=space.problems)
        for _ in range(MAX_ROUNDS):
            gathered = gather(space.manifests(), self.context)
            result.refused, result.skipped = [], []
            if not self._one_round(gathered, space, result):
                break
        gathered = gather(space.manifests(), self.context)
        result.left = lint_gathered(
            gathered,
            gathered.repository,
            self.context,
            selection=self.selection,
            inventory=self.inventory,
            today=self.today,
        )
        merge_builds(result.left)
        return result

    def _one_round(self, gathered: Gathered, space: Workspace, result: FixResult) -> bool:
        """Mend what can be mended at once; return whether anything was."""
        wanted: dict[TextKey, list[Fix]] = {}
        found = self._found(gathered, result)
        for repair in fixes_of(found, gathered.declared, result.refused, today=self.today):
            wanted.setdefault(repair.text, []).append(repair)
        made: list[Fix] = []
        changed: dict[int, tuple[Edit, ...]] = {}
        for key, repairs in wanted.items():
            content, documents, line = space.text(key)
            mending = TextFixes(content, documents)
            refused: list[tuple[Fix, RewriteRefusal]] = []
            able = list(compatible_fixes(repairs, documents, self.context, refused, changed))
            if able:
                mending.make(able)
            refused += mending.refused
            if mending.made and (refusal := space.write(key, mending.content)):
                refused += ((repair, refusal) for repair in mending.made)
            elif mending.made:
                made += mending.made
            result.refused += ((repair, _further(refusal, line)) for repair, refusal in refused)
        space.change([each for repair in made for each in repair.objects])
        result.made += made
        return bool(made)

    def _found(self, gathered: Gathered, result: FixResult) -> Iterator[Fixable]:
        """Yield what there is to mend, workload after workload."""
        rules = [
            rule
            for rule in self.selection.rules()
            if rule.fixable
            and rule.target is base.RuleTarget.WORKLOAD
            and not (rule.needs_inventory and self.inventory is None)
        ]
        version = self.context.kubernetes_version
        around = Context(version=version, repository=gathered.repository, inventory=self.inventory)
        for entry in gathered.declared:
            policies = self.context.policies_for(entry.subject)
            if self.context.policies and not policies:
                continue  # In nobody's scope, as at admission.
            yield from self._of_rules(entry, rules, around, policies)
            if self.inject:
                yield from self._injection(entry, policies, result)

    def _of_rules(
        self, entry: Declared, rules: list[Rule], around: Context, policies: list[SpreadPolicy]
    ) -> Iterator[Fixable]:
        own, template = entry.subject.annotations, entry.subject.pod.annotations
        exempt = read_exemptions(own, template, today=self.today).reasons
        for rule in rules:
            if rule.id in exempt:
                continue
            for problem in problems_of(entry.workload, rule, around, rule_settings(policies, rule.id).params):
                if problem.edits:
                    yield Fixable(entry, rule.id, problem.path, problem.message, problem.edits)

    def _injection(
        self, entry: Declared, policies: list[SpreadPolicy], result: FixResult
    ) -> Iterator[Fixable]:
        plan = plan_for_file(entry.subject, policies, self.context)
        location = entry.manifest.location(FieldPath())
        if isinstance(plan, Skip) and plan in _WORTH_A_WORD:
            result.skipped.append(f"{location}: {entry.workload.title} gets no default constraints: {plan}")
        if isinstance(plan, Injection):
            message = f"gets the {len(plan.constraints)} default constraint(s) of policy {plan.policy}"
            edits = injection_edits(plan, entry.subject)
            yield Fixable(entry, INJECTION, FieldPath(), message, edits)


def _further(refusal: RewriteRefusal, lines: int) -> RewriteRefusal:
    """Return a refusal by the lines of the file that its text stands in."""
    return replace(refusal, line=refusal.line + lines) if refusal.line and lines else refusal


def plan_for_file(
    subject: Subject, policies: list[SpreadPolicy], context: AdmissionContext
) -> Injection | Skip | None:
    """Return what a workload in a file gets: what admission would give it, or its pods.

    A pod gets nothing: which pods its constraints should count is known in the cluster only.
    """
    if subject.kind.is_pod:
        return None
    return plan_injection(subject, [_at_workloads(policy) for policy in policies], context)


def injection_edits(plan: Injection, subject: Subject) -> tuple[Edit, ...]:
    """Return the very patch of admission as edits."""
    operations = plan.patch(subject)
    return tuple(
        Edit(FieldPath(segments_of(operation["path"])), None, operation["value"]) for operation in operations
    )


def _at_workloads(policy: SpreadPolicy) -> SpreadPolicy:
    if policy.defaults is None or policy.defaults.at is not InjectAt.PODS:
        return policy
    return replace(policy, defaults=replace(policy.defaults, at=InjectAt.WORKLOADS))
