"""Fix what rules find and know how to fix, in the texts of files. Opens and writes none itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from policies.admission.injection import injection_patch
from policies.config.context import AdmissionContext
from policies.config.default_constraints import Injection, Skip, opts_out, plan_injection
from policies.config.enforcement import Exempting, rule_settings
from policies.config.spread_policy import InjectAt, SpreadPolicy
from policies.lint.fix_edits import Fix, TextFixes, compatible_fixes
from policies.lint.fix_targets import INJECTION, Fixable, Workspace, fixes_of
from policies.lint.merge_builds import merge_builds
from policies.lint.run import LintResult, Selection, lint_loaded
from policies.lint.workload_loader import LoadedManifests, ManifestWorkload, load_manifests
from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.manifests.json_patch import segments_of
from policies.manifests.kustomize_layers import TextKey
from policies.manifests.rewrite import RewriteRefusal
from policies.model.topology import ClusterTopology
from policies.model.workload import Workload
from policies.rules import base
from policies.rules.base import Context, Rule

#: Rounds after which no further repair is looked for (one may make room for another): no two rules
#: need more than two.
MAX_ROUNDS = 5
#: Reasons for getting no defaults that the author of a manifest can do something about.
_WORTH_A_WORD = frozenset({Skip.NO_OWN_SELECTOR, Skip.GENERATED_LABEL, Skip.INVALID, Skip.NO_DEFAULTS})


@dataclass(slots=True)
class FixResult:
    """The result of a run."""

    texts: dict[str, bytes] = field(default_factory=dict)  #: The files that changed, with their new content.
    made: list[Fix] = field(default_factory=list)  #: What was fixed.
    #: What could be fixed but not written safely, and why.
    refused: list[tuple[Fix, RewriteRefusal]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  #: Workloads that got no defaults, and why, a line each.
    #: What is wrong with files that cannot be read; they are left alone.
    unreadable: list[str] = field(default_factory=list)
    left: LintResult = field(default_factory=LintResult)  #: What lint finds afterwards.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixing:
    """The inputs by which files are fixed."""

    context: AdmissionContext  #: Policies, the release, the kinds.
    selection: Selection = field(default_factory=Selection)  #: The rules to run.
    inventory: ClusterTopology | None = None  #: What is known of the cluster's nodes and domains.
    today: date | None = None  #: The day for the expiry of exemptions; None lets every exemption hold.
    inject: bool = False  #: Whether workloads without constraints get the policies' defaults.

    def fix(
        self,
        files: Mapping[str, bytes],
        built: Sequence[ManifestObject] = (),
        read: Callable[[str], bytes] = lambda _file: b"",
    ) -> FixResult:
        """Fix files that are applied together, round after round until nothing is left to fix.

        Args:
            files: The files that are applied as they are.
            built: The objects that kustomize built of others.
            read: Returns the content of one of those.
        """
        space = Workspace(files, list(built), read)
        result = FixResult(texts=space.changed, unreadable=space.problems)
        for _ in range(MAX_ROUNDS):
            loaded = load_manifests(space.manifests(), self.context)
            result.refused, result.skipped = [], []
            if not self._one_round(loaded, space, result):
                break
        loaded = load_manifests(space.manifests(), self.context)
        result.left = lint_loaded(
            loaded,
            loaded.repository,
            self.context,
            selection=self.selection,
            inventory=self.inventory,
            today=self.today,
        )
        merge_builds(result.left)
        return result

    def _one_round(self, loaded: LoadedManifests, space: Workspace, result: FixResult) -> bool:
        """Fix what can be fixed at once; return whether anything was."""
        wanted: dict[TextKey, list[Fix]] = {}
        found = self._found(loaded, result)
        for repair in fixes_of(found, loaded.workloads, result.refused, self._is_exempt):
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

    def _found(self, loaded: LoadedManifests, result: FixResult) -> Iterator[Fixable]:
        """Yield the fixable findings, workload after workload."""
        rules = [
            rule
            for rule in self.selection.rules()
            if rule.fixable
            and rule.target is base.RuleTarget.WORKLOAD
            and not (rule.needs_inventory and self.inventory is None)
        ]
        version = self.context.kubernetes_version
        given = Context(version=version, repository=loaded.repository, inventory=self.inventory)
        for entry in loaded.workloads:
            policies = self.context.policies_for(entry)
            if self.context.policies and not policies:
                continue  # In no policy's scope, as at admission.
            yield from self._of_rules(entry, rules, given, policies)
            if self.inject:
                yield from self._injection(entry, policies, result)

    def _of_rules(
        self, entry: ManifestWorkload, rules: list[Rule], given: Context, policies: list[SpreadPolicy]
    ) -> Iterator[Fixable]:
        for rule in rules:
            settings = rule_settings(policies, rule.id)
            for problem in rule.run(entry, given, settings.params):
                severity = settings.severity or problem.severity or rule.severity
                found = Fixable(entry, rule.id, severity, problem.path, problem.message, problem.edits)
                if found.edits and not self._is_exempt(entry, found):
                    yield found

    def _is_exempt(self, entry: ManifestWorkload, found: Fixable) -> bool:
        """Return whether lint would exempt a workload from what is wrong with it, or with another."""
        if found.rule == INJECTION:
            return opts_out(entry.annotations) or opts_out(entry.template.annotations)
        policies, by_controller = self.context.policies_for(entry), self.context.made_by_controller(entry)
        exempting = Exempting.of(entry, policies, by_controller=by_controller, today=self.today)
        enforcement = exempting.enforcement(found.rule, found.severity)
        return exempting.find(found.rule, enforcement) is not None

    def _injection(
        self, entry: ManifestWorkload, policies: list[SpreadPolicy], result: FixResult
    ) -> Iterator[Fixable]:
        plan = plan_for_file(entry, policies, self.context)
        location = entry.manifest.location(FieldPath())
        if isinstance(plan, Skip) and plan in _WORTH_A_WORD:
            result.skipped.append(f"{location}: {entry.title} gets no default constraints: {plan}")
        if isinstance(plan, Injection):
            message = f"gets the {len(plan.constraints)} default constraint(s) of policy {plan.policy}"
            edits = injection_edits(plan, entry)
            yield Fixable(entry, INJECTION, Severity.NOTE, FieldPath(), message, edits)


def _further(refusal: RewriteRefusal, lines: int) -> RewriteRefusal:
    """Return a refusal by the lines of the file that its text is in."""
    return replace(refusal, line=refusal.line + lines) if refusal.line and lines else refusal


def plan_for_file(
    workload: Workload, policies: list[SpreadPolicy], context: AdmissionContext
) -> Injection | Skip | None:
    """Return the injection for a workload in a file: the one that admission would make in it, or in its pods.

    A pod gets nothing: which pods its constraints should count is known in the cluster only.
    """
    if workload.kind.is_pod:
        return None
    return plan_injection(workload, [_at_workloads(policy) for policy in policies], context)


def injection_edits(plan: Injection, workload: Workload) -> tuple[Edit, ...]:
    """Return the very patch of admission as edits."""
    operations = injection_patch(plan, workload.kind.constraints_path, annotated=bool(workload.annotations))
    return tuple(
        Edit(FieldPath(segments_of(operation["path"])), None, operation["value"]) for operation in operations
    )


def _at_workloads(policy: SpreadPolicy) -> SpreadPolicy:
    if policy.defaults is None or policy.defaults.at is not InjectAt.PODS:
        return policy
    return replace(policy, defaults=replace(policy.defaults, at=InjectAt.WORKLOADS))
