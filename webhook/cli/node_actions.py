"""What ``evenkeel what-if`` lets happen to nodes first, as its options say it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from planning.simulation import events
from planning.simulation.recovery import MOST_OTHERS
from planning.simulation.simulated_queue import PlannedActions
from policies.manifests.errors import UsageError
from policies.manifests.fields import shown
from policies.model import taints
from webhook.cli.autoscale_option import NO_AUTOSCALE, Autoscale
from webhook.cli.command import OPTION_ORDER

if TYPE_CHECKING:
    from policies.scheduler.index import ClusterIndex


#: A number of nodes.
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
#: A taint, as kubectl takes it.
_TAINT: Final = re.compile(r"([^=:]+)(?:=([^=:]*))?:([A-Za-z]+)")
#: The taints of a key, as kubectl removes them.
_TAINT_KEY: Final = re.compile(r"([^=:]+?)(?::([A-Za-z]+))?-?")


@dataclass(frozen=True, slots=True)
class Happening:
    """The actions on the nodes of a cluster."""

    actions: tuple[events.NodeEvent, ...] = ()  #: The actions, in the order in which they were given.
    others: int = 0  #: How many pods of other workloads are scheduled again.
    autoscale: Autoscale = NO_AUTOSCALE  #: What adds nodes, as it was given.

    @classmethod
    def read(cls, context: click.Context, values: dict[str, Any]) -> Happening:
        """Take the options out of their values.

        Raises:
            UsageError: One of them is not what it should be; has a line for each.
        """
        left = {name: iter(values.pop(name)) for name in (*_READERS, *_OF_ADDED)}
        actions: list[events.NodeEvent] = []
        problems = []
        for name in context.meta[OPTION_ORDER]:
            if name not in left:
                continue
            try:
                if name in _READERS:
                    actions.append(_READERS[name](next(left[name])))
                else:
                    actions.append(_OF_ADDED[name](_last_added(actions), next(left[name])))
            except UsageError as error:
                problems.append(f"--{name.replace('_', '-')}: {error}")
        if problems:
            raise UsageError("\n".join(problems))
        if values.pop("unreachable"):
            actions = [
                event if event.lose is None else events.NodeEvent(lose=replace(event.lose, unreachable=True))
                for event in actions
            ]
        return cls(tuple(actions), MOST_OTHERS if values.pop("displaced") == "all" else 0)

    @property
    def reads_all(self) -> bool:
        """Whether the cluster is read here, with its pods, and no server is asked."""
        return bool(self.actions) or self.autoscale.source is not None

    def planned(self, cluster: ClusterIndex) -> PlannedActions:
        """Return the actions before pods are scheduled, and what adds nodes.

        Raises:
            DocumentError: The file of node groups is not what it should be.
        """
        return PlannedActions(
            actions=self.actions,
            others=self.others,
            autoscaler=self.autoscale.read(cluster),
        )


def _lose(text: str) -> events.NodeEvent:
    key, value = _key_value(text)
    return events.NodeEvent(lose=events.LostDomain(topology_key=key, value=value))


def _drain(node: str) -> events.NodeEvent:
    return events.NodeEvent(drain=node)


def _cordon(node: str) -> events.NodeEvent:
    return events.NodeEvent(cordon=node)


def _taint(given: tuple[str, str]) -> events.NodeEvent:
    node, text = given
    parts = _TAINT.fullmatch(text)
    if parts is None or parts[3] not in list(taints.TaintEffect):
        raise _no_taint(text, "KEY[=VALUE]:EFFECT")
    effect = taints.TaintEffect(parts[3])
    return events.NodeEvent(
        taint=events.TaintedNode(node=node, key=parts[1], value=parts[2] or "", effect=effect)
    )


def _uncordon(node: str) -> events.NodeEvent:
    return events.NodeEvent(uncordon=node)


def _untaint(given: tuple[str, str]) -> events.NodeEvent:
    node, text = given
    parts = _TAINT_KEY.fullmatch(text)
    if parts is None or parts[2] not in {None, *taints.TaintEffect}:
        raise _no_taint(text, "KEY[:EFFECT]")
    effect = None if parts[2] is None else taints.TaintEffect(parts[2])
    return events.NodeEvent(untaint=events.UntaintedNode(node=node, key=parts[1], effect=effect))


def _no_taint(text: str, form: str) -> UsageError:
    effects = ", ".join(taints.TaintEffect)
    return UsageError(f"Invalid value: {shown(text)}: must be {form}; the effects are {effects}")


def _last_added(actions: list[events.NodeEvent]) -> events.AddedNodes:
    """Take the last event, which must add nodes."""
    if not actions or (added := actions[-1].add) is None:
        raise UsageError("must follow the --add whose nodes it is about")
    del actions[-1]
    return added


def _without_taint(added: events.AddedNodes, key: str) -> events.NodeEvent:
    return events.NodeEvent(add=replace(added, without_taints=[*(added.without_taints or ()), key]))


def _with_label(added: events.AddedNodes, text: str) -> events.NodeEvent:
    key, value = _key_value(text)
    label = events.NodeLabel(key=key, value=value)
    return events.NodeEvent(add=replace(added, labels=[*(added.labels or ()), label]))


def _label(given: tuple[str, str]) -> events.NodeEvent:
    node, text = given
    key, value = _key_value(text)
    return events.NodeEvent(label=events.LabeledNode(node=node, key=key, value=value))


def _key_value(text: str) -> tuple[str, str]:
    """Return the topology key, which may be written short, and value of a label."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"Invalid value: {shown(text)}: must be KEY=VALUE, such as zone=a")
    return events.topology_key(key), value


def _add(given: tuple[str, str, str]) -> events.NodeEvent:
    number, like, node = given
    count = int(number) if _NUMBER.fullmatch(number) else 0
    if like != "like" or not 1 <= count <= events.MOST_ADDED:
        text = f"must be N like NODE, N from 1 to {events.MOST_ADDED:,}, such as 3 like n1"
        raise UsageError(f"Invalid value: {shown(' '.join(given))}: {text}")
    return events.NodeEvent(add=events.AddedNodes(like=node, count=count))


#: What reads the value of each option.
_READERS: Final[dict[str, Callable[[Any], events.NodeEvent]]] = {
    "lose": _lose,
    "drain": _drain,
    "cordon": _cordon,
    "uncordon": _uncordon,
    "taint": _taint,
    "untaint": _untaint,
    "label": _label,
    "add": _add,
}
#: What gives the nodes of the action before it what each option says.
_OF_ADDED: Final[dict[str, Callable[[events.AddedNodes, str], events.NodeEvent]]] = {
    "without_taint": _without_taint,
    "with_label": _with_label,
}
