"""The reference page of the rules: what their modules say, in one file beside them.

``python -m policies.reports.rule_reference [--check]``
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from policies import rules
from policies.config.generate_schemas import write_or_check
from policies.rules.base import Rule, Subject, all_rules

#: How the command is called.
MODULE = "policies.reports.rule_reference"
#: The file, in the folder of the rules, where GitHub shows it.
REFERENCE_FILE = "README.md"
#: What a rule looks at, in words.
SUBJECTS = {
    Subject.WORKLOAD: "pods and workloads",
    Subject.MANIFEST: "every object",
    Subject.FILE: "what is read",
    Subject.NEXT_POD: "the next pod, at admission",
    Subject.SCHEDULER_CONFIG: "KubeSchedulerConfiguration",
    Subject.INJECTION: "policies that inject constraints",
}

_INTRODUCTION = """\
# Rules

<!-- Written by `make generate` from the docstrings of this folder; edit those. -->

What `evenkeel lint` asks of manifests. Each rule is a module of this folder; its docstring is what stands
here, and its examples are run as tests. A SpreadPolicy sets the severity and the settings of a rule for
what is in its scope, `--select` and `--ignore` choose rules for a run, and the annotation
`evenkeel.dev/ignore` exempts one object.

A rule that needs the cluster is asked where nodes are known (`--cluster`) or a SpreadPolicy lists domains
(`topology`), and skipped otherwise. What can be fixed, `evenkeel fix` writes into the file. An opt-in rule
only runs where `--enable` or `--select` names it, or in the scope of a SpreadPolicy that sets its severity.
The severity of a rule is that of most findings: one that is worse, or matters less, says so itself.
"""


def main(arguments: list[str]) -> int:
    """Write or check the page; returns the exit code."""
    path = Path(rules.__path__[0], REFERENCE_FILE)
    return write_or_check({path: reference(all_rules().values())}, arguments, module=MODULE)


def reference(entries: Iterable[Rule]) -> str:
    """Return the page of some rules: a table that leads to the manuals, and these."""
    known = list(entries)
    table = "\n".join(map(_row, known))
    head = "| rule | severity | looks at | cluster | fix | what it finds |\n|---|---|---|---|---|---|"
    manuals = "\n".join("\n".join(_manual(rule)) for rule in known)
    return f"{_INTRODUCTION}\n{head}\n{table}\n\n{manuals}"


def _row(rule: Rule) -> str:
    cells = (
        f"[`{rule.id}`](#{rule.id})",
        f"{rule.severity}, opt-in" if rule.opt_in else str(rule.severity),
        SUBJECTS[rule.subject],
        "needed" if rule.needs_inventory else "",
        "yes" if rule.fixable else "",
        rule.summary.replace("|", r"\|"),
    )
    return "| " + " | ".join(cells) + " |"


def _manual(rule: Rule) -> Iterator[str]:
    facts = [f"Severity: {rule.severity}"]
    facts += ["needs the cluster"] if rule.needs_inventory else []
    facts += ["can be fixed"] if rule.fixable else []
    facts += ["opt-in"] if rule.opt_in else []
    yield f"## {rule.id}\n"
    # Below the heading of the rule, its sections are one level deeper.
    yield re.sub(r"^## ", "### ", rule.manual.strip(), flags=re.MULTILINE)
    if rule.params is not None:
        yield from _settings(rule.params)
    yield f"\n{' · '.join(facts)} · [where it hurt]({rule.see})\n"


def _settings(params: type) -> Iterator[str]:
    yield "\n### Settings\n"
    described = _descriptions(params)
    for field in dataclasses.fields(params):
        default = getattr(params(), field.name)
        yield f"- `{field.name}`: {described.get(field.name, '')} The default is `{_shown(default)}`."


def _shown(default: object) -> str:
    if isinstance(default, tuple | list | frozenset | set):
        return "[" + ", ".join(map(str, default)) + "]"
    return {True: "true", False: "false"}[default] if isinstance(default, bool) else str(default)


def _descriptions(params: type) -> dict[str, str]:
    """Return what a docstring says of each attribute, on one line each."""
    text = inspect.cleandoc(params.__doc__ or "")
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {5,}.+)*)", text, flags=re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
