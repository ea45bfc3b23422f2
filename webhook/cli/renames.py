"""The old names of commands and options: they work for one release, and stderr says the new one.

The page docs/reference/renamed.md is made of this, and the commands read it, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

#: Old names of commands.
COMMANDS: Final[Mapping[str, str]] = {"diff": "upgrade"}

#: Old names of options that take the same values under their new name, by command.
OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "advise": {"--when": "--key"},
    "certs inject": {"--filename": "--file"},
    "certs rotate": {"--authority": "--ca"},
    "policy preview": {"--fail-on": "--fail-on-change"},
    "snapshot": {"--output": "-o"},
}

#: The same that stay, without a note: requests and the page call them so.
KEPT: Final[Mapping[str, Mapping[str, str]]] = {"simulate": {"--replicas": "--pods"}}

#: Old formats of answers, by command.
FORMATS: Final[Mapping[str, Mapping[str, str]]] = {"score": {"table": "text"}}

#: The object of a manifest that has several.
_OBJECT: Final = {"name": ("-f FILE --name KIND/NAME", "-f FILE KIND/NAME")}
#: The commands that read a LintConfig.
_NO_CONFIG: Final = {"no_config": ("--no-config", "--config none")}
#: What options of another form, or of another command, say now: by command and parameter.
MOVED: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    **dict.fromkeys(("advise", "explain", "score", "simulate", "survive"), _OBJECT),
    "fix": _NO_CONFIG,
    "lint": _NO_CONFIG
    | {
        "list_rules": ("--list-rules", "evenkeel rule"),
        "statistics": ("--statistics", "-o wide"),
        "verbose": ("--verbose", "-o wide"),
    },
    "plan": _NO_CONFIG,
    "rebalance": _OBJECT
    | {
        "way": ("--as deletion-cost", "evenkeel scale --replicas N --deletion-costs"),
        "replicas": ("--to N", "evenkeel scale --replicas N --deletion-costs"),
    },
    "snapshot": {"packed": ("--gzip", "-o FILE.gz")},
}

#: What has a command of its own now, and works as before: by command and parameter.
SPLIT: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "simulate": {
        "rollout": ("--rollout", "evenkeel rollout"),
        "scale": ("--scale M", "evenkeel scale --replicas M"),
        "lose": ("--lose KEY=VALUE", "evenkeel what-if --lose KEY=VALUE"),
        "drain": ("--drain NODE", "evenkeel what-if --drain NODE"),
        "cordon": ("--cordon NODE", "evenkeel what-if --cordon NODE"),
        "uncordon": ("--uncordon NODE", "evenkeel what-if --uncordon NODE"),
        "taint": ("--taint NODE TAINT", "evenkeel what-if --taint NODE TAINT"),
        "untaint": ("--untaint NODE KEY", "evenkeel what-if --untaint NODE KEY"),
        "add": ("--add N like NODE", "evenkeel what-if --add N like NODE"),
        "without_taint": ("--without-taint KEY", "evenkeel what-if --without-taint KEY"),
        "unreachable": ("--unreachable", "evenkeel what-if --unreachable"),
        "displaced": ("--displaced", "evenkeel what-if --displaced"),
    }
}


def rows() -> Iterator[tuple[str, str, bool]]:
    """Yield each old command line with the new one, and whether the old one is about to go."""
    yield from ((f"evenkeel {old}", f"evenkeel {new}", True) for old, new in COMMANDS.items())
    for names, dash, goes in ((OPTIONS, "", True), (FORMATS, "-o ", True), (KEPT, "", False)):
        for command, renamed in names.items():
            start = f"evenkeel {command} {dash}"
            yield from ((f"{start}{old}", f"{start}{new}", goes) for old, new in renamed.items())
    for moved, goes in ((MOVED, True), (SPLIT, False)):
        for command, options in moved.items():
            for old, new in options.values():
                shown = new if new.startswith("evenkeel ") else f"evenkeel {command} {new}"
                yield f"evenkeel {command} {old}", shown, goes
