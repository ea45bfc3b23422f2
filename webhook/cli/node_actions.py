"""What ``evenkeel what-if`` lets happen to nodes first, as its options say it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from planning.simulation import actions as core_actions
from planning.simulation import events
from planning.simulation.recovery import MOST_OTHERS
from planning.simulation.simulated_queue import PlannedActions
from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath, shown
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

    actions: tuple[core_actions.Action, ...] = ()  #: The actions, in the order in which they were given.
    others: int = 0  #: How many pods of other workloads are scheduled again.
    autoscale: Autoscale = NO_AUTOSCALE  #: What adds nodes, as it was given.

    @classmethod
    def read(cls, context: click.Context, values: dict[str, Any]) -> Happening:
        """Take the options out of their values.

        Raises:
            UsageError: One of them is not what it should be; has a line for each.
        """
        left = {name: iter(values.pop(name)) for name in (*_READERS, *_OF_ADDED)}
        actions: list[core_actions.Action] = []
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
                replace(action, unreachable=True) if isinstance(action, core_actions.LoseDomain) else action
                for action in actions
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


def _lose(text: str) -> core_actions.Action:
    key, value = _key_value(text)
    return core_actions.LoseDomain(at=FieldPath(("--lose",)), key=key, value=value)


def _drain(node: str) -> core_actions.Action:
    return core_actions.DrainNode(at=FieldPath(("--drain",)), node=node)


def _cordon(node: str) -> core_actions.Action:
    return core_actions.CordonNode(at=FieldPath(("--cordon",)), node=node)


def _taint(given: tuple[str, str]) -> core_actions.Action:
    node, text = given
    parts = _TAINT.fullmatch(text)
    if parts is None or parts[3] not in list(taints.TaintEffect):
        raise _no_taint(text, "KEY[=VALUE]:EFFECT")
    return core_actions.TaintNode(
        at=FieldPath(("--taint",)), node=node, taint=taints.Taint(parts[1], parts[2] or "", parts[3])
    )


def _uncordon(node: str) -> core_actions.Action:
    return core_actions.UncordonNode(at=FieldPath(("--uncordon",)), node=node)


def _untaint(given: tuple[str, str]) -> core_actions.Action:
    node, text = given
    parts = _TAINT_KEY.fullmatch(text)
    if parts is None or parts[2] not in {None, *taints.TaintEffect}:
        raise _no_taint(text, "KEY[:EFFECT]")
    effect = None if parts[2] is None else taints.TaintEffect(parts[2])
    return core_actions.UntaintNode(at=FieldPath(("--untaint",)), node=node, key=parts[1], effect=effect)


def _no_taint(text: str, form: str) -> UsageError:
    effects = ", ".join(taints.TaintEffect)
    return UsageError(f"Invalid value: {shown(text)}: must be {form}; the effects are {effects}")


def _last_added(actions: list[core_actions.Action]) -> core_actions.AddNodes:
    """Take the last action, which must add nodes."""
    if not actions or not isinstance(added := actions[-1], core_actions.AddNodes):
        raise UsageError("must follow the --add whose nodes it is about")
    del actions[-1]
    return added


def _without_taint(added: core_actions.AddNodes, key: str) -> core_actions.Action:
    return replace(added, without_taints=(*added.without_taints, key))


def _with_label(added: core_actions.AddNodes, text: str) -> core_actions.Action:
    return replace(added, labels=(*added.labels, _key_value(text)))


def _label(given: tuple[str, str]) -> core_actions.Action:
    node, text = given
    key, value = _key_value(text)
    return core_actions.LabelNode(at=FieldPath(("--label",)), node=node, key=key, value=value)


def _key_value(text: str) -> tuple[str, str]:
    """Return the topology key, which may be written short, and value of a label."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"Invalid value: {shown(text)}: must be KEY=VALUE, such as zone=a")
    return core_actions.topology_key(key), value


def _add(given: tuple[str, str, str]) -> core_actions.Action:
    number, like, node = given
    count = int(number) if _NUMBER.fullmatch(number) else 0
    if like != "like" or not 1 <= count <= events.MOST_ADDED:
        text = f"must be N like NODE, N from 1 to {events.MOST_ADDED:,}, such as 3 like n1"
        raise UsageError(f"Invalid value: {shown(' '.join(given))}: {text}")
    return core_actions.AddNodes(at=FieldPath(("--add",)), like=node, count=count)


#: What reads the value of each option.
_READERS: Final[dict[str, Callable[[Any], core_actions.Action]]] = {
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
_OF_ADDED: Final[dict[str, Callable[[core_actions.AddNodes, str], core_actions.Action]]] = {
    "without_taint": _without_taint,
    "with_label": _with_label,
}
