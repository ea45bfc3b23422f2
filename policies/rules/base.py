"""The interface of rules, the context that they run with, and their discovery.

Every module of this package but this one is a rule, and all that is known of a rule is in its module. The
docstring is the manual (Markdown, fixed headings); the YAML under *Fails* and *Passes* is run by the tests,
which put an excerpt into the Deployment, or the constraint, of ``lint/reports/rule_manual`` first.
The constants say the rest:

- ``ID``: its name in findings, policies and metrics, like the file's. An ``ApiRule`` is a rule of the API
  server: an error that is found in reading the object. Such a module is its manual, ``ID`` and ``SEE``.
- ``SEVERITY``: how bad a finding is, unless the problem or a policy says otherwise.
- ``SEE``: the address of a thread or page that shows the pain.
- ``TARGET``: what ``check`` is given, ``RuleTarget.WORKLOAD`` by default.
- ``AT_ADMISSION``: whether admission runs it and may deny on its errors, ``AtAdmission.WARN`` by default.
- ``NEEDS``: the parts of a workload, or its ``broken_rules``, without any of which ``check`` finds nothing.
- ``TOOL``: what the cluster must have: the repository shows it, or ``inUse`` of its settings, ``ToolParams``.
- ``NEEDS_INVENTORY``: whether it only runs where a cluster or its domains are known.
- ``NEEDS_PROFILE``: whether it looks at the profile of the pods' scheduler, ``Context.profiles_of``.
- ``FIXABLE``: whether its problems carry edits that ``evenkeel lint --fix`` may make.
- ``DECIDABLE``: whether the nodes that an autoscaler adds decide it, where its node groups are known.
- ``OPT_IN``: whether it only runs where it is enabled, selected or named by a policy.
- ``Params``: a frozen dataclass of settings (``DocumentFields``) with defaults; its docstring names each.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from policies import rules
from policies.manifests.edits import Edit
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, shown
from policies.manifests.findings import Severity
from policies.manifests.wire import DocumentFields, from_json
from policies.model.api_rules import ApiRule
from policies.model.repository import Repository
from policies.model.scaling import ScaleUps, Tool
from policies.model.storage_objects import StorageClass
from policies.model.topology import ClusterTopology, KnownStorage
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.scheduler.configuration import (
    DEFAULT_CONFIG,
    SchedulerConfig,
    SchedulerProfile,
    UnknownSchedulerError,
    build,
    config_errors,
)
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of


class MissingObjectError(Exception):
    """Objects that a rule depends on are not known; the message says which, and where they could be."""


class RuleTarget(StrEnum):
    """The kind of object that a rule runs on."""

    #: A pod or workload: ``check(workload, context)``.
    WORKLOAD = "workload"
    #: A KubeSchedulerConfiguration: ``check(document value, context)``.
    SCHEDULER_CONFIG = "scheduler-config"
    #: Any object, as it was read: ``check(manifest, context)``.
    MANIFEST = "manifest"
    #: A file or an annotation that cannot be read; the reader reports it, there is no ``check``.
    FILE = "file"
    #: The next pod of an object under review; the forecast reports it, there is no ``check``.
    NEXT_POD = "next-pod"
    #: A document of another policy engine that injects constraints: ``check(injection, context)``.
    INJECTION = "injection"


class AtAdmission(StrEnum):
    """The treatment of a rule's errors at admission, unless a policy sets the severity or the enforcement."""

    #: The object alone proves an error: a policy that denies rejects the object.
    DENY = "deny"
    #: An error may be intended, or depends on what changes, such as replicas or nodes: it is a warning.
    WARN = "warn"
    #: Wrong where an autoscaler of pods or another workload exists, which admission does not see: not run.
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a rule found."""

    path: FieldPath  #: The field, in the object.
    message: str  #: The problem, with its numbers, as a sentence without a full stop.
    edits: tuple[Edit, ...] = ()  #: What would fix it; empty if a person must decide.
    severity: Severity | None = None  #: Its severity; None for the rule's own.
    #: The message for a warning of at most 256 characters; empty where the message is short enough.
    short: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The context that rules get besides their target."""

    version: KubernetesVersion = KNOWN_VERSION  #: The release of Kubernetes.
    repository: Repository = field(default_factory=Repository)  #: What the target is applied together with.
    #: The cluster's nodes or domains; None if nothing is known of them.
    inventory: ClusterTopology | None = None
    params: Any = None  #: The rule's own settings, a ``Params`` of its module; None for a rule without.
    #: What an autoscaler adds for replicas; None where its node groups are not known.
    scale_ups: ScaleUps | None = None
    scheduler: SchedulerConfig | None = None  #: kube-scheduler's configuration; None if it was not given.
    #: The same with the defaults of each rule with settings, by its id; made when first used.
    by_default: dict[str, Context] = field(default_factory=dict, repr=False, compare=False)

    @property
    def behavior(self) -> Behavior:
        """The behavior of that release."""
        return behavior_of(self.version)

    @property
    def decided_with(self) -> str:
        """The node groups that decide a rule, in brackets, to follow a message; empty without any."""
        return "" if self.scale_ups is None else f" (decided with {self.scale_ups.source})"

    def scale_ups_of(self, tool: Tool) -> ScaleUps | None:
        """Return the scale-ups of an autoscaler; None where its node groups are not known."""
        return self.scale_ups if self.scale_ups is not None and self.scale_ups.tool is tool else None

    def profiles_of(self, workload: Workload) -> list[SchedulerProfile]:
        """Return the profiles that may schedule a workload's pods, one of each configuration that has one.

        Without any configuration kube-scheduler has its default one. Of several in the repository, as of
        environments, the one that is in force is not known.

        Raises:
            UnknownSchedulerError: No configuration has one.
        """
        name, memo = workload.template.scheduler_name, self.repository.memo
        read = self.repository.scheduler_configs
        if self.scheduler is None and SchedulerConfig not in memo:
            known = [build(each) for each in read if not config_errors(each)]
            memo[SchedulerConfig] = known if read else [DEFAULT_CONFIG]
        configs = memo[SchedulerConfig] if self.scheduler is None else [self.scheduler]
        found = [profile for config in configs if (profile := config.profile_for(name)) is not None]
        if not found:
            raise UnknownSchedulerError(name)
        return found

    @property
    def storage(self) -> KnownStorage | None:
        """The known volumes of the cluster; None where none are."""
        return None if self.inventory is None else self.inventory.storage

    def storage_classes(self, name: str) -> list[StorageClass]:
        """Return the known classes of a claim: the cluster's, and those of the repository.

        Of several definitions, as of environments, the one that is in force is not known.

        Args:
            name: The name of the class; empty for the default one.

        Raises:
            MissingObjectError: The class is in neither.
        """
        in_cluster = None if self.storage is None else self.storage.storage_class(name)
        found = [] if in_cluster is None else [in_cluster]
        found += self.repository.storage_classes.get(name, ())
        if not found:
            raise MissingObjectError("needs the StorageClass of each claim (--cluster, or among the files)")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParams(DocumentFields):
    """Settings of a rule about a tool."""

    in_use: bool = False  #: The cluster has such a tool, though the repository does not show it.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """A rule, as its module defines it; there is one of each."""

    id: str  #: What findings, policies and metrics call it.
    severity: Severity  #: How bad a finding is that has no severity of its own.
    summary: str  #: The first line of the manual.
    manual: str  #: The manual.
    see: str  #: Where the pain is shown.
    target: RuleTarget  #: What it runs on.
    at_admission: AtAdmission  #: Whether admission runs it and may deny on its errors.
    is_api_rule: bool  #: Whether it is the API server's: its errors are found in reading the object.
    needs_inventory: bool  #: Whether it must know nodes or domains.
    needs_profile: bool  #: Whether it looks at the profile of the pods' scheduler.
    fixable: bool  #: Whether its problems carry edits.
    opt_in: bool  #: Whether it only runs where it is enabled, selected or named by a policy.
    decidable: bool  #: Whether the nodes that an autoscaler adds decide it.
    params: type[Any] | None  #: The type of its settings; None for a rule without.
    #: Yields the problems of a target; none where something else reports them.
    check: Callable[[Any, Context], Iterator[Problem]]
    #: Of a workload's parts and ``broken_rules`` those without any of which it finds nothing; None if it may
    #: find something.
    needs: frozenset[str] | None = None

    def may_find(self, parts: frozenset[str]) -> bool:
        """Return whether it can find something in a workload with some parts and broken rules."""
        return self.needs is None or not self.needs.isdisjoint(parts)

    def run(self, subject: object, context: Context, settings: Mapping[str, Any]) -> list[Problem]:
        """Return the problems that the rule finds in one workload, or in another subject that it runs on.

        Args:
            subject: The workload, or what else the rule looks at.
            context: What rules are given besides, without settings.
            settings: Those that a policy gives the rule.
        """
        try:
            return list(self.check(subject, self.context_for(context, settings)))
        except Exception as error:
            error.add_note(self.note)
            raise

    @property
    def note(self) -> str:
        """The note on an exception that the check ends with, by which its author knows where to look."""
        return f"in rule {self.id}"

    def context_for(self, context: Context, settings: Mapping[str, Any]) -> Context:
        """Return the rule's context, with its parameters; those that settings leave out have defaults."""
        if self.params is None:
            return context
        if settings:
            return replace(context, params=self.params_of(settings))
        if self.id not in context.by_default:
            context.by_default[self.id] = replace(context, params=self.params())
        return context.by_default[self.id]

    def params_of(self, settings: Mapping[str, Any]) -> Any:
        """Return settings as the rule's own ``Params``; None for a rule without."""
        if self.params is None:
            return None
        return from_json(self.params, settings)


#: The types of what the module of a rule declares.
_DECLARATIONS: Final[Mapping[str, type]] = {
    "ID": str,
    "SEVERITY": Severity,
    "SEE": str,
    "TARGET": RuleTarget,
    "AT_ADMISSION": AtAdmission,
    "NEEDS": frozenset,
    "TOOL": Tool,
    "NEEDS_INVENTORY": bool,
    "NEEDS_PROFILE": bool,
    "FIXABLE": bool,
    "OPT_IN": bool,
    "DECIDABLE": bool,
}
#: What every rule declares; the rest has defaults.
_REQUIRED: Final = ("ID", "SEVERITY", "SEE")
#: The same of a rule of the API server.
_REQUIRED_OF_API: Final = ("ID", "SEE")
#: Targets whose problems something else reports.
_WITHOUT_CHECK: Final = (RuleTarget.FILE, RuleTarget.NEXT_POD)


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its id, in the order of the ids.

    Raises:
        DocumentError: Some module is no rule yet; it names all that is missing in all of them.
    """
    found: dict[str, Rule] = {}
    problems: list[str] = []
    for finder, name, _ in sorted(pkgutil.iter_modules(rules.__path__), key=lambda entry: entry.name):
        if name == "base":
            continue
        wrong: Iterable[str]
        try:
            module = import_module(f"{rules.__name__}.{name}")
        except Exception as error:  # noqa: BLE001  # whatever a module that is being written does
            wrong = (f"{type(error).__name__}: {error}",)
        else:
            wrong = tuple(_wrong_declarations(module))
            if not wrong:
                found[str(module.ID)] = _rule(module)
        problems += (f"{getattr(finder, 'path', '')}/{name}.py: {text}" for text in wrong)
    if problems:
        raise DocumentError(problems)
    return found


#: Letters of a name from which on they are likely a part that was remembered: the shortest word, "max".
_REMEMBERED = 3


def unknown_rule(rule_id: str) -> str:
    """Return the error text for an id that no rule has, with similar ids.

    >>> unknown_rule("max-skew-not-positiv")
    'unknown rule "max-skew-not-positiv", did you mean "max-skew-not-positive"?'
    >>> unknown_rule("a")
    'unknown rule "a"; evenkeel lint --explain lists all'
    """
    known = list(all_rules())
    # People remember words of a name; a letter or two are in many.
    close = (
        get_close_matches(rule_id[:100], known, 3, cutoff=0.75)
        or [name for name in known if rule_id in name and len(rule_id) >= _REMEMBERED][:3]
    )
    meant = " or ".join(f'"{name}"' for name in close)
    hint = f", did you mean {meant}?" if close else "; evenkeel lint --explain lists all"
    return f"unknown rule {shown(rule_id)}{hint}"


def api_check(rule: ApiRule) -> Callable[[Workload, Context], Iterator[Problem]]:
    """Return the check of a rule that the API server has: its errors are known from reading the object."""
    return partial(_api_problems, rule)


def _api_problems(rule: ApiRule, workload: Workload, _context: Context) -> Iterator[Problem]:
    for error in workload.errors:
        if error.rule == rule:
            yield Problem(error.path, error.problem)


def _where_used(
    tool: Tool, check: Callable[[Any, Context], Iterator[Problem]], subject: object, context: Context
) -> Iterator[Problem]:
    """Yield the problems that a check finds, if the cluster has the tool that they come of."""
    used = tool in context.repository.tools or context.scale_ups_of(tool) is not None
    if context.params.in_use or used:
        yield from check(subject, context)


def _nothing(_target: object, _context: Context) -> Iterator[Problem]:
    return iter(())


def _wrong_declarations(module: ModuleType) -> Iterator[str]:
    """Yield the declarations that a module lacks to be a rule, or makes with another type."""
    is_api_rule = isinstance(getattr(module, "ID", None), ApiRule)
    if not module.__doc__:
        yield "the docstring is missing: it is the manual"
    for name, wanted in _DECLARATIONS.items():
        given = getattr(module, name, None)
        if given is None and name in (_REQUIRED_OF_API if is_api_rule else _REQUIRED):
            yield f"{name} is missing: must be of type {wanted.__name__}"
        elif given is not None and not isinstance(given, wanted):
            yield f"{name}: must be of type {wanted.__name__}, got {shown(given)}"
    params = getattr(module, "Params", None)
    if params is not None and not (_is_settings(params) and all(map(_has_default, fields(params)))):
        yield "Params: must be a dataclass of DocumentFields whose fields all have defaults"
    check = getattr(module, "check", None)
    has_none = is_api_rule or getattr(module, "TARGET", RuleTarget.WORKLOAD) in _WITHOUT_CHECK
    if check is None and not has_none:
        yield "check is missing: must be a function of the target and the context that yields problems"
    elif check is not None and not callable(check):
        yield f"check: must be a function, got {shown(check)}"


def _is_settings(params: object) -> bool:
    return is_dataclass(params) and isinstance(params, type) and issubclass(params, DocumentFields)


def _has_default(entry: Field[Any]) -> bool:
    return entry.default is not MISSING or entry.default_factory is not MISSING


def _rule(module: ModuleType) -> Rule:
    manual: Final = module.__doc__ or ""
    is_api_rule, tool = isinstance(module.ID, ApiRule), getattr(module, "TOOL", None)
    check, needs = getattr(module, "check", _nothing), getattr(module, "NEEDS", None)
    if is_api_rule and check is _nothing:
        check, needs = api_check(module.ID), frozenset({module.ID})
    return Rule(
        id=str(module.ID),
        severity=getattr(module, "SEVERITY", Severity.ERROR),
        summary=manual.partition("\n")[0],
        manual=manual,
        see=module.SEE,
        target=getattr(module, "TARGET", RuleTarget.WORKLOAD),
        at_admission=AtAdmission.DENY if is_api_rule else getattr(module, "AT_ADMISSION", AtAdmission.WARN),
        is_api_rule=is_api_rule,
        needs_inventory=getattr(module, "NEEDS_INVENTORY", False),
        needs_profile=getattr(module, "NEEDS_PROFILE", False),
        fixable=getattr(module, "FIXABLE", False),
        opt_in=getattr(module, "OPT_IN", False),
        decidable=getattr(module, "DECIDABLE", False),
        params=getattr(module, "Params", None if tool is None else ToolParams),
        check=check if tool is None else partial(_where_used, tool, check),
        needs=needs,
    )
