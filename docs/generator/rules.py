"""One page for each rule, from its docstring, and a table of all rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from docs.generator.markdown import code, page, table
from docs.generator.type_schema import attribute_docs
from policies.lint.reports.rule_manual import CONSTRAINT, DEPLOYMENT, EXCERPTS, has_excerpts
from policies.rules.base import Rule, RuleTarget, all_rules

#: What a rule checks, in words.
TARGETS = {
    RuleTarget.WORKLOAD: "pods and workloads",
    RuleTarget.MANIFEST: "every object",
    RuleTarget.FILE: "files and options",
    RuleTarget.NEXT_POD: "the next pod, at admission",
    RuleTarget.SCHEDULER_CONFIG: "KubeSchedulerConfiguration",
    RuleTarget.INJECTION: "policies of other tools that add constraints",
}

_INTRODUCTION = """\
`evenkeel lint` runs these rules over manifests, and the webhook runs them at admission. Each page is the
documentation of the rule's module, and its examples are run as tests.

- **Severity** is that of most findings; a single finding can differ, and a SpreadPolicy can change it.
- **Needs the cluster**: the rule needs nodes (`--cluster`, `--live`) or the `topology` of a SpreadPolicy.
  Without them it does not run.
- **Node groups decide it**: with [those of an autoscaler](../../autoscale.md#rules-of-the-linter)
  (`--autoscale`) it goes by the nodes that come.
- **Fix**: `evenkeel lint --fix` can correct what the rule finds.
- **Opt-in**: the rule runs only if `--enable` or `--select` names it, or if a SpreadPolicy sets its severity.

`--select` and `--ignore` choose rules for one run, `evenkeel.dev/ignore` [exempts one
object](../../lint.md#exempt-an-object), and `rules` of a [SpreadPolicy](../../policies.md) sets severity and
parameters."""

_COMMENTS = """\
A comment at the top of an example lists the cluster's nodes (each has its name as `kubernetes.io/hostname`),
or names the release of Kubernetes."""


def pages() -> Mapping[str, str]:
    """Return the text of each page by its file name."""
    known = all_rules().values()
    head = ("rule", "severity", "what it finds", "notes")
    yaml = (f"```yaml\n{text}```" for text in (DEPLOYMENT, CONSTRAINT))
    examples = "\n\n".join(["## Examples", EXCERPTS, *yaml, _COMMENTS])
    index = page("Rules", _INTRODUCTION, table(head, map(_row, known)), examples)
    return {"index.md": index, **{f"{rule.id}.md": _page(rule) for rule in known}}


def _row(rule: Rule) -> tuple[str, ...]:
    notes = [] if rule.target is RuleTarget.WORKLOAD else [TARGETS[rule.target]]
    notes += [text for text, holds in _traits(rule).items() if holds]
    return f"[`{rule.id}`]({rule.id}.md)", str(rule.severity), rule.summary, ", ".join(notes)


def _traits(rule: Rule) -> dict[str, bool]:
    return {
        "needs the cluster": rule.needs_inventory,
        "node groups decide it": rule.decidable,
        "fix": rule.fixable,
        "opt-in": rule.opt_in,
    }


def _page(rule: Rule) -> str:
    facts = [f"**Severity:** {rule.severity}", f"**Checks:** {TARGETS[rule.target]}"]
    facts += [f"**{text.capitalize()}**" for text, holds in _traits(rule).items() if holds]
    facts += ["Examples are [excerpts](index.md#examples)"] if has_excerpts(rule) else []
    summary, _, sections = rule.manual.strip().partition("\n\n")
    settings = "" if rule.params is None else "\n".join(_settings(rule.params))
    link = f"## Seen in practice\n\n<{rule.see}>"
    return page(rule.id, summary, " · ".join(facts), sections, settings, link)


def _settings(params: type) -> Iterator[str]:
    yield "## Settings\n"
    described = attribute_docs(params)
    for field in dataclasses.fields(params):
        default = getattr(params(), field.name)
        yield f"- `{field.name}`: {described[field.name]} Default: {code(_shown(default))}."


def _shown(default: object) -> str:
    if isinstance(default, tuple | list | frozenset | set):
        return "[" + ", ".join(map(str, default)) + "]"
    return {True: "true", False: "false"}[default] if isinstance(default, bool) else str(default)
