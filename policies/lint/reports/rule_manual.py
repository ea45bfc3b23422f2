"""A rule's manual in the pieces that reports quote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from policies.rules.base import Rule, all_rules

#: What an example without ``apiVersion`` is an excerpt of: it adds to this, or replaces what is there.
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
"""
#: The constraint that an example of some fields of a constraint changes: what it does not name is as here.
CONSTRAINT: Final = """\
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
"""
#: How to read such an example.
EXCERPTS: Final = """\
An example without `apiVersion` is an excerpt of a Deployment `web` with 3 replicas and the label `app: web`.
One that begins with `kind`, `metadata` or `spec` is of the Deployment itself; one with fields of a constraint
is of its only constraint, a soft one over zones with `maxSkew: 1`; any other is of its pods' spec."""
_EXCERPT = re.compile(r"(?:^```yaml|^---)\n(?:#.*\n)*(?!#|apiVersion:)", re.MULTILINE)
_HOW_TO_FIX = "How to fix"
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s+[A-Z`\"(]|\s*$)", re.DOTALL)


def section(rule: Rule, heading: str) -> str:
    """Return the text below a heading of the manual, empty if it has no such heading."""
    for part in re.split(r"^## ", rule.manual, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if title.strip() == heading:
            return text.strip()
    return ""


def has_excerpts(rule: Rule) -> bool:
    """Return whether some example of the manual is an excerpt of ``DEPLOYMENT``."""
    return _EXCERPT.search(rule.manual) is not None


def explained(rule: Rule) -> str:
    """Return the manual, and how to read its examples where they are excerpts."""
    manual = rule.manual.strip()
    return f"{manual}\n\n{EXCERPTS}\n" if has_excerpts(rule) else f"{manual}\n"


@cache
def how_to_fix(rule: Rule) -> str:
    """Return how to fix what the rule finds, in one sentence on one line.

    >>> from policies.rules.base import all_rules
    >>> how_to_fix(all_rules()["selector-misses-own-pod"])
    "Select labels of the pod template, preferably those of the workload's own selector."
    """
    paragraph = section(rule, _HOW_TO_FIX).partition("\n\n")[0]
    text = " ".join(paragraph.split())
    sentence = _SENTENCE.match(text)
    return sentence[1] if sentence else text


def manuals(rules: Iterable[Rule]) -> str:
    """Return the manuals of rules; of none of them, the list of all."""
    return "".join(map(_manual, rules)) or _listed()


def _manual(rule: Rule) -> str:
    notes = (
        (
            "Needs the cluster's nodes or domains (--cluster, or topology of a SpreadPolicy).",
            rule.needs_inventory,
        ),
        ("With `lint --autoscale` the nodes that come decide it.", rule.decidable),
        ("`evenkeel lint --fix` can fix its findings.", rule.fixable),
        ("Runs only where --enable or --select names it, or a SpreadPolicy sets its severity.", rule.opt_in),
    )
    head = f"# {rule.id} ({rule.severity})\n\n{explained(rule)}\nSee {rule.see}\n"
    return head + "".join(f"{note}\n" for note, holds in notes if holds)


def _listed() -> str:
    """Return every rule on a line: its id, its severity, what it needs, and its summary."""
    rules = all_rules().values()
    width = max(len(rule.id) for rule in rules)
    lines = []
    for rule in rules:
        given = (("cluster", rule.needs_inventory), ("fix", rule.fixable), ("opt-in", rule.opt_in))
        marks = ",".join(mark for mark, holds in given if holds)
        lines.append(f"{rule.id:<{width}}  {rule.severity:<7}  {marks:<11}  {rule.summary}\n")
    return "".join(lines)
