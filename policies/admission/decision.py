"""The answer to one review: what becomes of an object, and what is reported of it.

An object that could not be reviewed (too large, not readable, or the review failed) is decided on too. Who
writes an object chooses its form, and an HTTP error of a webhook is no refusal where ``failurePolicy`` is
``Ignore``. So an object that a policy may deny is denied if it could not be reviewed.

kubectl prints the warnings to a person who applies an object, so they are few and short, the most important
first: the API server truncates long ones and drops those with control characters. The audit log has all
findings in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

import orjson

from policies.config.context import AdmissionContext
from policies.config.spread_policy import Enforcement, SpreadPolicy
from policies.manifests.fields import ErrorKind, FieldError, FieldPath
from policies.manifests.json_patch import AddOperation
from policies.manifests.sanitize import cut, one_line
from policies.manifests.words import more
from policies.model.snapshot import Namespace, Snapshot
from policies.model.workload import Owner

#: Warnings that one request gets from both webhooks together: what a person reads.
MAX_WARNINGS = 3
#: Characters of a warning: the API server truncates longer ones once all together have 4,096.
MAX_WARNING_LENGTH = 256
#: Shows which webhook warns.
WARNING_PREFIX = "evenkeel: "
#: Characters that the fields may take of a warning, so that the text has room.
_FIELDS_LENGTH = 128
#: Where a path starts that a warning shows: what is before it, every workload of the kind has.
_STARTS = ("topologySpreadConstraints", "affinity")
_SEE_ALL = "; run kubectl evenkeel lint FILE to see all"
#: The rule that an object breaks which could not be reviewed; only admission has it. The audit annotation of
#: one that was allowed has the same name.
UNREVIEWABLE: Final = "unreviewable"


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """One thing that a person should read."""

    text: str  #: The problem.
    #: The id of the rule, or the annotation that it is about; empty where the text has no subject.
    topic: str = ""
    paths: tuple[FieldPath, ...] = ()  #: The fields that have the problem.

    def __str__(self) -> str:
        fields = cut(", ".join(map(_short_path, self.paths)), _FIELDS_LENGTH)
        about = "".join(f"{part}: " for part in (self.topic, fields) if part)
        return one_line(f"{WARNING_PREFIX}{about}{self.text}", MAX_WARNING_LENGTH)


def warning_texts(warnings: Sequence[AdmissionWarning], most: int) -> list[str]:
    """Return the texts of the first warnings; if there are more, the last text names the others.

    Args:
        warnings: The most important first.
        most: Texts, at least 1.

    >>> warning_texts([AdmissionWarning("is 5", "max-skew", (FieldPath(("spec", "maxSkew")),))], 3)
    ['evenkeel: max-skew: spec.maxSkew: is 5']
    """
    warnings = _merged(warnings)
    if len(warnings) <= most:
        return [str(warning) for warning in warnings]
    first, others = warnings[: most - 1], warnings[most - 1 :]
    topics = ", ".join(dict.fromkeys(warning.topic for warning in others if warning.topic))
    head = f"{WARNING_PREFIX}{more(len(others))}: "
    rest = head + one_line(topics, MAX_WARNING_LENGTH - len(head) - len(_SEE_ALL)) + _SEE_ALL
    return [*(str(warning) for warning in first), rest]


def _merged(warnings: Sequence[AdmissionWarning]) -> list[AdmissionWarning]:
    """Return warnings without repeats: the same problem of several fields is one."""
    found: dict[tuple[str, str], AdmissionWarning] = {}
    for warning in warnings:
        first = found.get((warning.topic, warning.text))
        merged = warning if first is None else replace(first, paths=first.paths + warning.paths)
        found[warning.topic, warning.text] = merged
    return list(found.values())


def _short_path(path: FieldPath) -> str:
    start = next((number for number, name in enumerate(path.segments) if name in _STARTS), 0)
    return str(FieldPath(path.segments[start:]))


class AdmissionVerdict(StrEnum):
    """The outcome for an object, as metrics and logs name it."""

    ALLOWED = "allowed"
    WARNED = "warned"
    DENIED = "denied"
    INJECTED = "injected"
    IGNORED = "ignored"


class CacheMiss(NamedTuple):
    """An object that the cache does not have yet."""

    namespace: str  #: The object's namespace.
    #: The controller that should be there; None if it is the namespace that is missing.
    owner: Owner | None = None

    def __str__(self) -> str:
        """Return the sentence on the missing object, for the audit log."""
        if self.owner is None:
            return f"Namespace {self.namespace} is not in the cache of the cluster yet"
        return f"{self.owner.kind} {self.namespace}/{self.owner.name} is not in the cache of the cluster yet"

    def found(self, snapshot: Snapshot | None) -> bool:
        """Return whether it has come, or there is no cluster any more to wait for; needs no lock."""
        if snapshot is None:
            return True
        if self.owner is None:
            return self.namespace in snapshot.namespaces
        return snapshot.controller(self.owner, self.namespace) is not None


class NamespaceChange(NamedTuple):
    """A namespace as it would be."""

    name: str  #: Its name.
    namespace: Namespace  #: Its labels and annotations.


class SkipCause(StrEnum):
    """What makes rules too dear, as metrics name it."""

    #: The object that is reviewed.
    OBJECT = "object"
    #: What the cluster stores.
    CLUSTER = "cluster"
    #: What is left of the timeout.
    TIMEOUT = "timeout"


class SkippedRules(NamedTuple):
    """Rules that were not run on an object."""

    rules: tuple[str, ...]  #: The ids of the rules.
    why: str  #: What keeps them from it.
    cause: SkipCause = SkipCause.OBJECT  #: The same in a word.

    def __str__(self) -> str:
        return f"{', '.join(self.rules)}: {self.why}"


def by_reason(entries: Iterable[SkippedRules]) -> tuple[SkippedRules, ...]:
    """Return one entry for each reason."""
    rules: dict[tuple[str, SkipCause], tuple[str, ...]] = {}
    for entry in entries:
        reason = entry.why, entry.cause
        rules[reason] = (*rules.get(reason, ()), *entry.rules)
    return tuple(SkippedRules(named, *reason) for reason, named in rules.items())


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer to one object."""

    verdict: AdmissionVerdict  #: In one word.
    errors: tuple[FieldError, ...] = ()  #: Why it is denied; empty unless it is.
    #: What a person who applies it should read, the most important first.
    warnings: tuple[AdmissionWarning, ...] = ()
    patch: tuple[AddOperation, ...] = ()  #: What changes.
    audit: dict[str, str] = field(default_factory=dict)  #: What the audit log should keep, by plain keys.
    rules: tuple[str, ...] = ()  #: The ids of the broken rules, without repeats, whatever the enforcement.
    injected: int = 0  #: How many constraints the patch adds.
    skipped: tuple[SkippedRules, ...] = ()  #: The rules that were not run, and why.
    #: The ids of the rules that it breaks and is exempt from, each with who exempts it.
    exempted: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  #: What else a person should know whose object is denied.
    miss: CacheMiss | None = None  #: What should be known of the cluster and was not; None if all was.
    #: What would change for other objects, of which the author should read; None if nothing would.
    change: SpreadPolicy | NamespaceChange | None = None

    @cached_property
    def patch_json(self) -> bytes:
        """The patch as JSON; written once for all objects that get the same decision."""
        return orjson.dumps(self.patch)


#: For what Evenkeel never looks at: deletions, subresources, kinds without pods.
IGNORED = Decision(verdict=AdmissionVerdict.IGNORED)
#: For what is in order.
ALLOWED = Decision(verdict=AdmissionVerdict.ALLOWED)


def decide_unreviewable(namespace: str, context: AdmissionContext, why: str, *, may_deny: bool) -> Decision:
    """Decide on an object of which no more is known than its namespace.

    Its kind is known, too, but not whose it is, and policies for kinds are for what those create.

    Args:
        namespace: Where it is.
        context: The policies in force.
        why: Why it was not reviewed.
        may_deny: Whether it is denied if a policy may want that.
    """
    known = context.namespaces.get(namespace)
    labels = None if known is None else known.labels
    policies = [policy for policy in context.policies if policy.scope.may_select(namespace, labels)]
    if not policies:
        return ALLOWED
    if may_deny and (denying := [policy.name for policy in policies if _denies(policy)]):
        problem = f"cannot be reviewed: {why}; SpreadPolicy {denying[0]} denies what breaks its rules"
        error = FieldError(FieldPath(), problem, ErrorKind.TOO_LONG, UNREVIEWABLE)
        return Decision(verdict=AdmissionVerdict.DENIED, errors=(error,), rules=(UNREVIEWABLE,))
    return Decision(
        verdict=AdmissionVerdict.WARNED,
        warnings=(AdmissionWarning(f"not reviewed: {why}", topic=UNREVIEWABLE),),
        audit={UNREVIEWABLE: why},
        rules=(UNREVIEWABLE,),
    )


def _denies(policy: SpreadPolicy) -> bool:
    """Return whether a policy denies an object for any rule."""
    enforcements = (policy.enforcement, *(settings.enforcement for settings in policy.rules.values()))
    return Enforcement.DENY in enforcements
