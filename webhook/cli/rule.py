"""``evenkeel rule``: a rule's manual."""

from __future__ import annotations

import click

from webhook.cli.command import Command
from webhook.cli.completing import complete_rule


@click.command(cls=Command)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_rule)
def command(ids: tuple[str, ...]) -> None:
    """Show the documentation of rules; without an ID, list the rules.

    The list says of each rule its severity, and whether it needs a cluster, has a fix, or is opt-in.
    """
    if not ids:
        print_rules()
        return
    from policies.reports.lint import rule_manual
    from policies.rules import base
    from webhook.lint import options

    rules = base.all_rules()
    options.check_rules("rule", ids)
    for rule in map(rules.__getitem__, dict.fromkeys(ids)):
        needs = "\nNeeds the cluster's nodes or domains (--cluster, or topology of a SpreadPolicy)."
        fix = "\n`evenkeel fix` can fix its findings."
        click.echo(
            f"# {rule.id} ({rule.severity})\n\n{rule_manual.explained(rule)}\nSee {rule.see}", nl=False
        )
        opt_in = "\nRuns only where --enable or --select names it, or a SpreadPolicy sets its severity."
        decided = "\nWith `lint --autoscale` the nodes that come decide it."
        notes = (
            (needs, rule.needs_inventory),
            (decided, rule.decidable),
            (fix, rule.fixable),
            (opt_in, rule.opt_in),
        )
        click.echo("".join(note for note, holds in notes if holds))


def print_rules() -> None:
    """Print every rule: its id, its severity, what it needs, and its summary."""
    from policies.rules import base

    rules = base.all_rules().values()
    width = max(len(rule.id) for rule in rules)
    for rule in rules:
        given = (("cluster", rule.needs_inventory), ("fix", rule.fixable), ("opt-in", rule.opt_in))
        marks = ",".join(mark for mark, holds in given if holds)
        click.echo(f"{rule.id:<{width}}  {rule.severity:<7}  {marks:<11}  {rule.summary}")
