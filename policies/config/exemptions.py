"""Annotations that exempt an object from injection, or from single rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from policies.manifests.fields import shown
from policies.model.api_rules import ApiRule
from policies.rules.base import RENAMED, all_rules, unknown_rule

#: ``"false"`` on a workload, a pod or a namespace keeps default constraints away.
INJECT_ANNOTATION = "evenkeel.dev/inject"
#: ``rule-id: why`` or ``rule-id: why (until 2027-01-31)``, one a line; the reason is required.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
#: The rule that a workload breaks whose next pod would be unschedulable; only admission runs it. Annotations,
#: metrics and the audit log use this id.
UNSCHEDULABLE = "unschedulable"
#: Lines of one such annotation that are read: more than there are rules.
MAX_ENTRIES = 100
#: Characters of one such line; a longer one has no effect. The audit log repeats every reason that has one.
MAX_LINE = 1000


@dataclass(frozen=True, slots=True)
class Exemptions:
    """The rules that an object is exempt from, with the reasons, and what is wrong with the annotation."""

    reasons: Mapping[str, str]
    problems: tuple[str, ...]


#: Starts what stands in brackets at the end of a reason that has an expiry.
_UNTIL = "until"

#: What an object without the annotation has.
NO_EXEMPTIONS = Exemptions({}, ())


@cache
def known_rules() -> frozenset[str]:
    """Return every id that an object may be exempt from, at admission or in a file."""
    return frozenset(all_rules()) | frozenset(ApiRule)


def read_exemptions(
    own: Mapping[str, str],
    template: Mapping[str, str],
    known: frozenset[str] | None = None,
    *,
    today: date | None = None,
) -> Exemptions:
    """Read ``evenkeel.dev/ignore`` from an object's own annotations and from its template's.

    An entry without a reason, of an unknown rule, or whose last day is over exempts from nothing.

    Args:
        own: The object's annotations.
        template: Its pod template's annotations.
        known: The ids of rules; None for ``known_rules()``.
        today: The day by which an expiry is judged; None to let every entry hold.

    >>> read_exemptions({IGNORE_ANNOTATION: "wrong-type: moving house (until 2027-01-31)"}, {}).reasons
    {'wrong-type': 'moving house (until 2027-01-31)'}
    """
    if IGNORE_ANNOTATION not in own and IGNORE_ANNOTATION not in template:
        return NO_EXEMPTIONS
    texts = dict.fromkeys(source.get(IGNORE_ANNOTATION, "") for source in (own, template))
    rules = known_rules() if known is None else known
    reasons: dict[str, str] = {}
    problems: list[str] = []
    lines = [line for text in texts for line in text.split("\n", MAX_ENTRIES)[:MAX_ENTRIES]]
    for line in filter(None, (line[: MAX_LINE + 1].strip() for line in lines)):
        rule, _, reason = (part.strip() for part in line.partition(":"))
        rule = RENAMED.get(rule, rule)
        if len(line) > MAX_LINE:
            wrong = [f"{shown(rule)} has no effect: the line has more than {MAX_LINE} characters"]
        elif rule in rules:
            wrong = list(_wrong(rule, reason, today))
        else:
            wrong = [unknown_rule(rule)]
        problems += (f"{IGNORE_ANNOTATION}: {problem}" for problem in wrong)
        if not wrong:
            reasons[rule] = reason
    return Exemptions(reasons, tuple(problems))


def _wrong(rule: str, reason: str, today: date | None) -> Iterator[str]:
    """Yield why an entry exempts from nothing."""
    why, day = _without_expiry(reason)
    if not why:
        yield f"{rule} has no effect without a reason, write {rule}: REASON"
    if day is None:
        return
    try:
        last = date.fromisoformat(day)
    except ValueError:
        got = shown(day[:40])
        yield f"{rule} has no effect: Invalid value: {got}: the last day must be a date such as 2027-01-31"
        return
    if today is not None and today > last:
        yield f"{rule} has no effect any more: the exemption ended on {last}"


def _without_expiry(reason: str) -> tuple[str, str | None]:
    """Return a reason without the expiry at its end, and the day of that; None for a reason without one.

    >>> _without_expiry("moving house ( until 2027-01-31 )"), _without_expiry("one (of two) services")
    (('moving house', '2027-01-31'), ('one (of two) services', None))
    """
    why, bracket, inside = reason.removesuffix(")").rpartition("(")
    words = inside.split()
    if bracket and reason.endswith(")") and words[:1] == [_UNTIL]:
        return why.strip(), " ".join(words[1:])
    return reason, None


def opts_out(annotations: Mapping[str, str]) -> bool:
    """Tell whether annotations keep default constraints away; only ``"false"`` does.

    >>> opts_out({"evenkeel.dev/inject": "false"}), opts_out({"evenkeel.dev/inject": "true"})
    (True, False)
    """
    return annotations.get(INJECT_ANNOTATION) == "false"
