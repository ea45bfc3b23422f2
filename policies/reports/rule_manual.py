"""A rule's manual in the pieces that reports quote."""

from __future__ import annotations

import re
from functools import cache

from policies.rules.base import Rule

_HOW_TO_FIX = "How to fix"
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s+[A-Z`\"(]|\s*$)", re.DOTALL)


def section(rule: Rule, heading: str) -> str:
    """Return the text below a heading of the manual, empty if it has no such heading."""
    for part in re.split(r"^## ", rule.manual, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if title.strip() == heading:
            return text.strip()
    return ""


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
