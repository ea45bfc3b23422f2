"""Parts of sentences that verdicts share with what says the same of a cluster in which nothing happens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planning.simulation.survival import Survival
from policies.manifests.sanitize import one_line
from policies.model.topology_keys import HOSTNAME, domain_word

#: Characters of a name in a sentence.
_MOST_OF_NAME: Final = 60
#: Domains that a sentence names.
_NAMED: Final = 2


def whose_loss_stops(survival: Iterable[Survival]) -> str:
    """Return in which domains all pods of a workload are whose loss stops it; empty if there are none."""
    stopping = [each for each in survival if each.stops]
    if not stopping:
        return ""
    places = " and ".join(_place(each.topology_key, each.fullest or "") for each in stopping[:_NAMED])
    return f"{all_of(stopping[0].running)} are {places}, whose loss stops it"


def _place(key: str, value: str) -> str:
    return f"on {shown(value)}" if key == HOSTNAME else f"in {domain_word(key)} {shown(value)}"


def all_of(count: int) -> str:
    """Return all of some things, of which there are two at least."""
    return "both" if count == 2 else f"all {count:,}"


def shown(name: str) -> str:
    """Return a name short and printable enough for a sentence."""
    return one_line(name, _MOST_OF_NAME) or '""'
