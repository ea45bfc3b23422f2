"""What a person reads who applies an object: few short lines, as kubectl prints warnings.

The audit log has all of it, in full; here the worst comes first, and what has no room is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from policies.admission.warning_text import fit, plain, shortened, wrapped
from policies.manifests.fields import FieldPath
from policies.model.topology_keys import HOSTNAME, REGION, ZONE

#: Lines that one request gets from both webhooks together: what a person reads.
MAX_LINES = 3
#: Characters of a line: 120, less the ``Warning: `` that kubectl prints before it.
LINE_LENGTH = 111
#: Says whose line it is.
PREFIX = "evenkeel: "
#: Characters of a line without its prefix.
_WIDTH = LINE_LENGTH - len(PREFIX)
#: Characters of a text, and of a field, that are fitted into lines; the rest is for the audit log. Finding
#: where a text may end costs more than reading it. Arbitrary; some times what has room.
MAX_TEXT = 2000
#: Says that a line goes on with the one above.
INDENT = "  "
#: Characters that a field may take of a line. Arbitrary; the longest of a constraint's own has 44.
FIELD_LENGTH = 44
#: The list under which nearly every field is that a rule tells.
CONSTRAINTS = "topologySpreadConstraints"
#: The topology keys that everybody knows by their last part.
SHORT_KEYS = {key: key.rpartition("/")[2] for key in (ZONE, REGION, HOSTNAME)}
#: The keys and their last parts as words. What follows a "/" is one too: names with two prefixes stay apart.
_WORDS = {
    name: re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w./-])")
    for name in (*SHORT_KEYS, *SHORT_KEYS.values())
}
#: The way to a term of pod affinity, of which a short line says the kind and the list.
_TERM = re.compile(
    r"^.*\b(podAffinity|podAntiAffinity)\.(required|preferred)DuringSchedulingIgnoredDuringExecution"
)
#: Where all of it can be read.
_ALL = "; kubectl evenkeel lint FILE tells all"


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """One thing that a person should read. As a string it is whole, in lines as far as there is room.

    Attributes:
        text: What is so, as sentences.
        topic: The id of the rule, or the annotation that it is about; empty where the text says all.
        paths: The fields of which it is so.
        hint: What to do to learn more, told where a line is free.
    """

    text: str
    topic: str = ""
    paths: tuple[FieldPath, ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        return PREFIX + self._about(", ".join(map(str, self.paths))) + self.text

    def lines(self, most: int) -> list[str]:
        """Return the remark in as many lines at most, without the prefix."""
        text = with_short_keys(self.text[:MAX_TEXT])
        abouts = [self._about(field) for field in self._fields()]
        for about in abouts:
            if len(about) + len(text) <= _WIDTH:
                return [plain(about + text)]
        shortest = abouts[-1]
        if most == 1:
            return [plain(shortest) + fit(text, _WIDTH - len(shortest))]
        head = next((about for about in abouts[:-1] if len(about) <= _WIDTH), "")
        if head and len(text) <= _WIDTH - len(INDENT):
            return [plain(head.rstrip()), plain(text)]
        return wrapped(shortest + text, _WIDTH, most, indent=len(INDENT))

    def _about(self, field: str) -> str:
        return "".join(f"{part}: " for part in (self.topic, field) if part)

    def _fields(self) -> tuple[str, ...]:
        """Return the fields in full, and in ever fewer words."""
        written = [str(path)[:MAX_TEXT] for path in self.paths]
        if not written or not all(CONSTRAINTS in path for path in written):
            terms = (_TERM.sub(r"\1.\2", path).replace(".podAffinityTerm.", ".") for path in written)
            return ", ".join(written), ", ".join(terms), ""
        way = written[0].partition(CONSTRAINTS)[0]
        below = [path.partition(CONSTRAINTS)[2] for path in written]
        numbers, fields = zip(*(path[1:].partition("]")[::2] for path in below), strict=True)
        # [0].maxSkew and [1].maxSkew are [0,1].maxSkew.
        same = all(numbers) and len({*fields}) == 1
        joined = f"[{','.join(numbers)}]{fields[0]}" if same else ", ".join(below)
        return f"{way}{CONSTRAINTS}{joined}", f"{CONSTRAINTS}{joined}", shortened(joined, FIELD_LENGTH)


def lines(remarks: Sequence[AdmissionWarning], most: int) -> list[str]:
    """Return what a person reads of remarks.

    Each gets a line, the first more while there are any; if there are too few, the last names the rest.

    Args:
        remarks: The most important first.
        most: Lines there may be, at least 1.

    >>> lines([AdmissionWarning("is 5", topic="max-skew", paths=(FieldPath(("spec", "maxSkew")),))], 3)
    ['evenkeel: max-skew: spec.maxSkew: is 5']
    """
    remarks = _merged(remarks)
    told = remarks if len(remarks) <= most else remarks[: most - 1]
    rest = remarks[len(told) :]
    spare = most - len(told) - bool(rest)
    written: list[str] = []
    for remark in told:
        first, *more = remark.lines(1 + spare)
        spare -= len(more)
        written += (first, *(INDENT + line for line in more))
    if rest:
        written.append(_rest(rest))
    written += [remark.hint for remark in told if remark.hint][:spare]
    return [PREFIX + line for line in written]


def _merged(remarks: Sequence[AdmissionWarning]) -> list[AdmissionWarning]:
    """Return remarks without repeats: what is so of several fields is said once."""
    found: dict[tuple[str, str], AdmissionWarning] = {}
    for remark in remarks:
        first = found.get((remark.topic, remark.text))
        merged = remark if first is None else replace(first, paths=first.paths + remark.paths)
        found[remark.topic, remark.text] = merged
    return list(found.values())


def _rest(remarks: Sequence[AdmissionWarning]) -> str:
    """Return what remarks are about that have no line."""
    head = f"and {len(remarks)} more: "
    topics = ", ".join(dict.fromkeys(remark.topic for remark in remarks if remark.topic))
    return head + fit(topics, _WIDTH - len(head) - len(_ALL)) + _ALL


def with_short_keys(text: str) -> str:
    """Return a text with well-known topology keys by their last part, but where that stands there already.

    >>> with_short_keys("nothing is spread over topology.kubernetes.io/zone")
    'nothing is spread over zone'
    >>> with_short_keys("no node carries zone; the label is called topology.kubernetes.io/zone")
    'no node carries zone; the label is called topology.kubernetes.io/zone'
    """
    for key, short in SHORT_KEYS.items():
        if key in text:
            told, count = _WORDS[key].subn(short, text)
            if count == len(_WORDS[short].findall(told)):
                text = told
    return text
