"""The options of ``evenkeel what-if`` that say what happens: their order is that of the events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import click

from planning.simulation.events import (
    MOST_ADDED,
    AddedNodes,
    Event,
    LabeledNode,
    LostDomain,
    NamedPod,
    NodeLabel,
    ScaledWorkload,
    TaintedNode,
    TargetWorkload,
    UntaintedNode,
    topology_key,
)
from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath, shown
from policies.manifests.words import IN_PHRASE, listed
from policies.model.taints import TaintEffect
from policies.model.workload import DEFAULT_NAMESPACE
from webhook.cli.command import ARGUMENTS, OPTION_ORDER
from webhook.cli.completing_cluster import complete_domain, complete_key, complete_node
from webhook.cli.options import with_options

#: A number of nodes or replicas.
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
#: Another number of replicas: as many, or so many more or fewer.
_REPLICAS: Final = re.compile(r"([+-]?)([0-9]{1,6})")
#: A taint, as kubectl takes it.
_TAINT: Final = re.compile(r"([^=:\s]+)(?:=([^=:\s]*))?:([A-Za-z]+)")
#: The taints of a key, as kubectl removes them.
_TAINT_KEY: Final = re.compile(r"([^=:\s]+?)(?::([A-Za-z]+))?-")
#: What each option of several words is to look like.
_TAINT_FORM: Final = "'NODE KEY[=VALUE]:EFFECT', or 'NODE KEY[:EFFECT]-' to remove taints"
_LABEL_FORM: Final = "'NODE KEY=VALUE', or 'NODE KEY-' to remove the label"
_ADD_FORM: Final = f"'N like NODE [with KEY=VALUE] [without TAINT]', N from 1 to {MOST_ADDED:,}"

#: What happens, by parameter.
EVENT_OPTIONS: Final = (
    click.option(
        "--replicas", multiple=True, metavar="N|+N",
        help="Scale the object to N replicas, or by N more; -N for fewer.",
    ),
    click.option(
        "--restart", count=True,
        help="Roll the object out again as it is.",
    ),
    click.option(
        "--delete", multiple=True, metavar="[NAMESPACE/]POD",
        help="Delete a pod; its controller replaces it.",
    ),
    click.option(
        "--lose", multiple=True, metavar="KEY=VALUE", shell_complete=complete_domain,
        help="Lose the nodes of a domain, such as zone=a: they are gone, with their pods.",
    ),
    click.option(
        "--lose-each", "each", default="", metavar="KEY", shell_complete=complete_key,
        help="After all else lose each domain of a key, one at a time, each on its own copy.",
    ),
    click.option(
        "--drain", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Cordon a node and evict its pods as kubectl drain does, as far as budgets allow.",
    ),
    click.option(
        "--cordon", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Let a node take no more pods.",
    ),
    click.option(
        "--uncordon", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Let a node take pods again.",
    ),
    click.option(
        "--taint", multiple=True, metavar="'NODE KEY[=V]:EFFECT|KEY-'",
        help="Taint a node as kubectl taint does, or remove the taints of a key; NoExecute evicts.",
    ),
    click.option(
        "--label", multiple=True, metavar="'NODE KEY=V|KEY-'",
        help="Label a node as kubectl label does, or remove a label.",
    ),
    click.option(
        "--add", multiple=True, metavar="'N like NODE [with KEY=V] [without TAINT]'",
        help="Add N nodes like one: its labels, taints and capacity, without pods.",
    ),
    click.option(
        "--release", multiple=True, metavar="VERSION",
        help="Behave as another release of Kubernetes from then on, and say for whom that differs.",
    ),
)  # fmt: skip


def event_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which must be a ``Command``."""
    return with_options(function, EVENT_OPTIONS)


@dataclass(frozen=True, slots=True)
class AskedObjects:
    """The objects that events are about."""

    #: The objects that each ``-f`` applies, in their order.
    applied: Sequence[Sequence[dict[str, Any]]] = ()
    #: The workloads that ``--replicas`` and ``--restart`` are about.
    targets: Sequence[TargetWorkload] = ()
    namespace: str = DEFAULT_NAMESPACE  #: The namespace of pods that name none.


class AskedEvents(NamedTuple):
    """The events of a command line."""

    events: tuple[Event, ...]  #: The events, in order.
    options: tuple[str, ...]  #: The option of each.

    def where(self, path: FieldPath) -> str:
        """Return the option of an error in a request that has these events; else its path."""
        match path.segments:
            case ("events", int(position), *_):
                return self.options[position]
            case ("each", *_):
                return "--lose-each"
        return str(path)


def read_events(context: click.Context, values: dict[str, Any], objects: AskedObjects) -> AskedEvents:
    """Take the options out of their values.

    Raises:
        UsageError: One of them is not what it should be; has a line for each.
    """
    reading = _Reading(objects)
    values["restart"] = ("",) * values["restart"]
    left = {name: iter(values.pop(name)) for name in _READERS}
    applied = iter(objects.applied)
    problems = []
    for name in context.meta[OPTION_ORDER]:
        if name == "files":
            reading.add("-f", *(Event(apply=obj) for obj in next(applied, ())))
        elif name in left:
            option, value = f"--{name}", next(left[name])
            try:
                reading.add(option, *_READERS[name](reading, value))
            except UsageError as error:
                problems.append(f"{option}: {error}{_joined(context.meta[ARGUMENTS], option, value)}")
    if problems:
        raise UsageError("\n".join(problems))
    return AskedEvents(tuple(reading.events), tuple(reading.options))


def check_events(context: click.Context, values: Mapping[str, Any]) -> None:
    """Make sure that each value is what it should be, before anything is read for them.

    Raises:
        UsageError: One is not; has a line for each.
    """
    anyone = TargetWorkload(kind="Deployment", namespace=DEFAULT_NAMESPACE, name="any")
    read_events(context, dict(values), AskedObjects(targets=(anyone,)))


@dataclass(slots=True)
class _Reading:
    """The events that were read so far."""

    objects: AskedObjects
    events: list[Event] = field(default_factory=list)
    options: list[str] = field(default_factory=list)

    def add(self, option: str, *events: Event) -> None:
        self.events += events
        self.options += [option] * len(events)

    def targets(self, *, one: bool) -> Sequence[TargetWorkload]:
        """Return the workloads that are named.

        Raises:
            UsageError: There is none, or more than the one that is meant.
        """
        found = self.objects.targets
        if not found or (one and len(found) > 1):
            names = listed((f"{each.kind.lower()}/{each.name}" for each in found), IN_PHRASE)
            which = f", which of {names}" if names else ", such as deploy/web"
            raise UsageError(f"say of which object, KIND/NAME{which}")
        return found


def _joined(arguments: Sequence[str], option: str, value: str) -> str:
    """Return the right form where words that belong to a value follow it as words of their own."""
    for position, argument in enumerate(arguments):
        if argument == f"{option}={value}":
            rest = arguments[position + 1 :]
        elif argument == option and arguments[position + 1 : position + 2] == [value]:
            rest = arguments[position + 2 :]
        else:
            continue
        words = []
        for word in rest:
            if word.startswith("-"):
                break
            words.append(word)
        if words:
            return f"; one value is meant: {option} '{' '.join((value, *words))}'"
    return ""


def _replicas(reading: _Reading, text: str) -> Iterator[Event]:
    parts = _REPLICAS.fullmatch(text)
    if parts is None:
        raise UsageError(f"Invalid value: {shown(text)}: must be a number, such as 6, or +2 for two more")
    (target,) = reading.targets(one=True)
    number = int(parts[2])
    to, by = (None, int(text)) if parts[1] else (number, None)
    scaled = ScaledWorkload(kind=target.kind, namespace=target.namespace, name=target.name, to=to, by=by)
    yield Event(scale=scaled)


def _restart(reading: _Reading, _text: str) -> Iterator[Event]:
    for target in reading.targets(one=False):
        yield Event(restart=target)


def _delete(reading: _Reading, text: str) -> Iterator[Event]:
    namespace, slash, name = text.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise UsageError(f"Invalid value: {shown(text)}: must be POD, or NAMESPACE/POD")
    yield Event(delete=NamedPod(namespace=namespace or reading.objects.namespace, name=name))


def _lose(_reading: _Reading, text: str) -> Iterator[Event]:
    key, value = _key_value(text)
    yield Event(lose=LostDomain(topology_key=topology_key(key), value=value))


def _drain(_reading: _Reading, node: str) -> Iterator[Event]:
    yield Event(drain=_name(node))


def _cordon(_reading: _Reading, node: str) -> Iterator[Event]:
    yield Event(cordon=_name(node))


def _uncordon(_reading: _Reading, node: str) -> Iterator[Event]:
    yield Event(uncordon=_name(node))


def _taint(_reading: _Reading, text: str) -> Iterator[Event]:
    words = text.split()
    if len(words) != 2:  # the node and the taint
        raise _invalid(text, _TAINT_FORM)
    node, taint = words
    if (parts := _TAINT_KEY.fullmatch(taint)) is not None:
        effect = None if parts[2] is None else _effect(text, parts[2])
        yield Event(untaint=UntaintedNode(node=node, key=parts[1], effect=effect))
    elif (parts := _TAINT.fullmatch(taint)) is not None:
        effect = _effect(text, parts[3])
        yield Event(taint=TaintedNode(node=node, key=parts[1], value=parts[2] or "", effect=effect))
    else:
        raise _invalid(text, _TAINT_FORM)


def _effect(text: str, effect: str) -> TaintEffect:
    if effect not in list(TaintEffect):
        raise _invalid(text, f"{_TAINT_FORM}; the effects are {', '.join(TaintEffect)}")
    return TaintEffect(effect)


def _label(_reading: _Reading, text: str) -> Iterator[Event]:
    words = text.split()
    if len(words) != 2:  # the node and the label
        raise _invalid(text, _LABEL_FORM)
    node, label = words
    key, equals, value = label.partition("=")
    if not equals and key.endswith("-"):
        yield Event(label=LabeledNode(node=node, key=topology_key(key[:-1])))
    elif key and equals:
        yield Event(label=LabeledNode(node=node, key=topology_key(key), value=value))
    else:
        raise _invalid(text, _LABEL_FORM)


def _add(_reading: _Reading, text: str) -> Iterator[Event]:
    words = text.split()
    count = int(words[0]) if words and _NUMBER.fullmatch(words[0]) else 0
    # What follows comes in pairs: a word, and what it is about.
    if len(words) < 3 or len(words) % 2 == 0 or words[1] != "like" or not 1 <= count <= MOST_ADDED:
        raise _invalid(text, _ADD_FORM)
    labels: list[NodeLabel] = []
    without: list[str] = []
    for word, what in zip(words[3::2], words[4::2], strict=True):
        if word == "with":
            key, value = _key_value(what)
            labels.append(NodeLabel(key=topology_key(key), value=value))
        elif word == "without":
            without.append(what)
        else:
            raise _invalid(text, _ADD_FORM)
    yield Event(
        add=AddedNodes(like=words[2], count=count, labels=labels or None, without_taints=without or None)
    )


def _release(_reading: _Reading, text: str) -> Iterator[Event]:
    from policies.scheduler.releases import parse_release

    parse_release(text)
    yield Event(release=text)


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"Invalid value: {shown(text)}: must be KEY=VALUE, such as zone=a")
    return key, value


def _name(node: str) -> str:
    if not node:
        raise UsageError('Invalid value: "": must be the name of a node')
    return node


def _invalid(text: str, form: str) -> UsageError:
    return UsageError(f"Invalid value: {shown(text)}: must be {form}")


#: What reads the value of each option.
_READERS: Final[Mapping[str, Callable[[_Reading, str], Iterator[Event]]]] = {
    "replicas": _replicas,
    "restart": _restart,
    "delete": _delete,
    "lose": _lose,
    "drain": _drain,
    "cordon": _cordon,
    "uncordon": _uncordon,
    "taint": _taint,
    "label": _label,
    "add": _add,
    "release": _release,
}
#: The parameters of the options, but for that of lost domains, which come one at a time.
EVENT_NAMES: Final = tuple(_READERS)
