"""The classes of all commands: an option that takes one value is refused when it is given twice.

click lets the last one win, so a file that was named first would not be read without notice.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import click

#: Where the context of a command has the names of its parameters in the order in which they were given.
OPTION_ORDER: Final = "evenkeel.option_order"


class Command(click.Command):
    """A command that knows in which order its options were given, and takes each of one value once."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: An option of one value is there twice, among all else that click finds.
        """
        # click knows the order only while it parses.
        _, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[OPTION_ORDER] = [parameter.name for parameter in order]
        for parameter, times in Counter(order).items():
            if times > 1 and isinstance(parameter, click.Option) and _takes_one(parameter):
                context.fail(f"{'/'.join(parameter.opts)} is given {times} times, but takes one value")
        return super().parse_args(context, args)


class CommandGroup(click.Group):
    """A group of such commands."""

    command_class = Command


def _takes_one(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)
