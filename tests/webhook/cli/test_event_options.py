"""The options of what-if that say what happens."""

from __future__ import annotations

from typing import Any

import click
import pytest

from planning.simulation.events import TargetWorkload
from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath
from policies.manifests.wire import dumps
from webhook.cli.command import Command
from webhook.cli.event_options import AskedEvents, AskedObjects, event_options, read_events

WEB = TargetWorkload(kind="Deployment", namespace="shop", name="web")
API = TargetWorkload(kind="Deployment", namespace="shop", name="api")


def _read(*arguments: str, **objects: Any) -> AskedEvents:
    """Return what the options of a command line say."""

    @click.command(cls=Command)
    @click.option("-f", "files", multiple=True)
    @click.argument("words", nargs=-1)
    @event_options
    @click.pass_context
    def command(context: click.Context, /, **values: Any) -> AskedEvents:
        return read_events(context, values, AskedObjects(**{"namespace": "shop", **objects}))

    found: AskedEvents = command.main(list(arguments), standalone_mode=False)
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--replicas", "6"], b'{"scale":{"kind":"Deployment","namespace":"shop","name":"web","to":6}}'),
        (["--replicas", "+2"], b'{"scale":{"kind":"Deployment","namespace":"shop","name":"web","by":2}}'),
        (["--replicas", "-2"], b'{"scale":{"kind":"Deployment","namespace":"shop","name":"web","by":-2}}'),
        (["--restart"], b'{"restart":{"kind":"Deployment","namespace":"shop","name":"web"}}'),
        (["--delete", "db-2"], b'{"delete":{"namespace":"shop","name":"db-2"}}'),
        (["--delete", "data/db-2"], b'{"delete":{"namespace":"data","name":"db-2"}}'),
        (["--lose", "zone=a"], b'{"lose":{"topologyKey":"topology.kubernetes.io/zone","value":"a"}}'),
        (["--lose", "rack="], b'{"lose":{"topologyKey":"rack","value":""}}'),
        (["--drain", "n1"], b'{"drain":"n1"}'),
        (["--cordon", "n1"], b'{"cordon":"n1"}'),
        (["--uncordon", "n1"], b'{"uncordon":"n1"}'),
        (["--taint", "n1 team=x:NoSchedule"],
         b'{"taint":{"node":"n1","key":"team","value":"x","effect":"NoSchedule"}}'),
        (["--taint", "n1 team:NoExecute"],
         b'{"taint":{"node":"n1","key":"team","value":"","effect":"NoExecute"}}'),
        (["--taint", "n1 team-"], b'{"untaint":{"node":"n1","key":"team"}}'),
        (["--taint", "n1 team:NoSchedule-"], b'{"untaint":{"node":"n1","key":"team","effect":"NoSchedule"}}'),
        (["--label", "n1 rack=r1"], b'{"label":{"node":"n1","key":"rack","value":"r1"}}'),
        (["--label", "n1 rack-"], b'{"label":{"node":"n1","key":"rack"}}'),
        (["--add", "3 like n1"], b'{"add":{"like":"n1","count":3}}'),
        (["--add", "3 like n1 with zone=d without team with rack=r1"],
         (b'{"add":{"like":"n1","count":3,"withoutTaints":["team"],"labels":'
         b'[{"key":"topology.kubernetes.io/zone","value":"d"},{"key":"rack","value":"r1"}]}}')),
        (["--release", "1.36"], b'{"release":"1.36"}'),
    ],
    ids=lambda value: value.decode() if isinstance(value, bytes) else " ".join(value),
)  # fmt: skip
def test_values(arguments: list[str], expected: bytes) -> None:
    """Each value is the event that a request has."""
    (event,) = _read(*arguments, targets=(WEB,)).events

    assert expected == dumps(event)


def test_order() -> None:
    """Events happen in the order of the options, whichever these are; each knows its option."""
    files = ([{"kind": "Deployment"}, {"kind": "Pod"}], [{"kind": "StatefulSet"}])
    found = _read(
        "--drain", "n1", "-f", "a", "--lose", "zone=a", "--drain=n2", "-f", "b", "--restart", "--restart",
        applied=files, targets=(WEB, API),
    )  # fmt: skip

    kinds = ["drain", "apply", "apply", "lose", "drain", "apply", *["restart"] * 4]
    assert kinds == [event.what for event in found.events]
    assert ["--drain", "-f", "-f", "--lose", "--drain", "-f"] == list(found.options[:6])
    assert "--lose" == found.where(FieldPath(("events", 3, "lose", "value")))
    assert "cluster" == found.where(FieldPath(("cluster",)))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--taint", "n1", "team:NoSchedule"], "--taint 'n1 team:NoSchedule'"),
        (["--taint=n1", "x"], "--taint 'n1 x'"),
        (["--label", "n1", "rack=r1", "--drain", "n2"], "--label 'n1 rack=r1'"),
        (["--add", "3", "like", "n1"], "--add '3 like n1'"),
        (["--taint", "n1 team:Never"], "NoExecute"),
        (["--add", "0 like n1"], "N from 1 to"),
        (["--add", "3 like n1 with"], "N like NODE"),
        (["--add", "3 like n1 and zone=d"], "N like NODE"),
        (["--lose", "zone"], "KEY=VALUE"),
        (["--delete", "a/b/c"], "NAMESPACE/POD"),
        (["--replicas", "many"], "must be a number"),
        (["--drain", ""], "the name of a node"),
        (["--release", "new"], "--release"),
        (["--label", "n1 =r1"], "NODE KEY=VALUE"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_errors(arguments: list[str], problem: str) -> None:
    """What is wrong names its option; of words that belong together the right form is shown."""
    with pytest.raises(UsageError) as caught:
        _read(*arguments, targets=(WEB,))

    assert problem in str(caught.value)
    assert str(caught.value).startswith(arguments[0].partition("=")[0])


def test_all_errors() -> None:
    """Everything that is wrong is said at once."""
    with pytest.raises(UsageError) as caught:
        _read("--lose", "zone", "--drain", "n1", "--add", "n1")

    assert ["--lose", "--add"] == [line.partition(":")[0] for line in str(caught.value).splitlines()]


@pytest.mark.parametrize("targets", [(), (WEB, API)], ids=["none", "two"])
def test_whom(targets: tuple[TargetWorkload, ...]) -> None:
    """A number of replicas is one object's."""
    with pytest.raises(UsageError, match="KIND/NAME"):
        _read("--replicas", "3", targets=targets)
