"""Annotations with which people take an object out of injection, or out of single rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: ``"false"`` on a workload, a pod or a namespace keeps default constraints away.
INJECT_ANNOTATION = "evenkeel.dev/inject"
#: ``rule-id: why``, one a line; the reason is required.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
#: Lines of one such annotation that are read. Arbitrary; there are far fewer rules.
MAX_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Exemptions:
    """The rules that an object is exempt from, with the reasons, and what is wrong with the annotation."""

    reasons: Mapping[str, str]
    problems: tuple[str, ...]


#: What an object without the annotation has.
NO_EXEMPTIONS = Exemptions({}, ())


def read_exemptions(
    own: Mapping[str, str], template: Mapping[str, str], known_rules: frozenset[str]
) -> Exemptions:
    """Read ``evenkeel.dev/ignore`` from an object's own annotations and from its template's.

    An entry without a reason, or of an unknown rule, exempts from nothing.

    >>> read_exemptions({IGNORE_ANNOTATION: "wrong-type: until May"}, {}, frozenset(["wrong-type"]))
    Exemptions(reasons={'wrong-type': 'until May'}, problems=())
    """
    if IGNORE_ANNOTATION not in own and IGNORE_ANNOTATION not in template:
        return NO_EXEMPTIONS
    texts = dict.fromkeys(source.get(IGNORE_ANNOTATION, "") for source in (own, template))
    reasons: dict[str, str] = {}
    problems = []
    lines = [line for text in texts for line in text.split("\n", MAX_ENTRIES)[:MAX_ENTRIES]]
    for line in filter(None, map(str.strip, lines)):
        rule, _, reason = (part.strip() for part in line.partition(":"))
        if rule not in known_rules:
            problems.append(f"{IGNORE_ANNOTATION}: there is no rule {rule[:60]!r}")
        elif not reason:
            problems.append(
                f"{IGNORE_ANNOTATION}: {rule} stays in force, for no reason is given; write {rule}: why"
            )
        else:
            reasons[rule] = reason
    return Exemptions(reasons, tuple(problems))


def opts_out(annotations: Mapping[str, str]) -> bool:
    """Tell whether annotations keep default constraints away; only ``"false"`` does.

    >>> opts_out({"evenkeel.dev/inject": "false"}), opts_out({"evenkeel.dev/inject": "true"})
    (True, False)
    """
    return annotations.get(INJECT_ANNOTATION) == "false"
