"""``evenkeel rule``: a rule's manual."""

from __future__ import annotations

import click

from policies.rules.base import all_rules
from webhook.linting.options import check_rules


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
def command(ids: tuple[str, ...]) -> None:
    """Print the manuals of rules; without an ID, list the rules."""
    rules = all_rules()
    if not ids:
        click.echo("\n".join(f"{rule.id}: {rule.summary}" for rule in rules.values()))
        return
    check_rules("rule", ids)
    for rule in map(rules.__getitem__, dict.fromkeys(ids)):
        needs = "\nNeeds the cluster's nodes or domains (--cluster, or topology of a SpreadPolicy)."
        fix = "\n`evenkeel fix` can mend what it finds."
        click.echo(f"# {rule.id} ({rule.severity})\n\n{rule.manual.strip()}\n\nSee {rule.see}", nl=False)
        click.echo(f"{needs if rule.needs_inventory else ''}{fix if rule.fixable else ''}")
