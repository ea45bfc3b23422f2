"""The options that let something happen to nodes, in the order in which they were given."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from planning.simulation.events import (
    AddedNodes,
    LabeledNode,
    LostDomain,
    NodeEvent,
    NodeLabel,
    UntaintedNode,
)
from policies.manifests.errors import UsageError
from policies.model.taints import Taint, TaintEffect
from tests.planning.what_ifs import tainting
from webhook.cli.command import Command
from webhook.cli.node_actions import Happening
from webhook.cli.what_if import action_options


def _read(*arguments: str) -> tuple[NodeEvent, ...]:
    read: list[tuple[NodeEvent, ...]] = []

    @click.command(cls=Command)
    @action_options
    @click.option("--other")
    @click.pass_context
    def command(context: click.Context, /, **values: Any) -> None:
        read.append(Happening.read(context, values).actions)
        assert {"other"} == values.keys()

    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return read[0]


def test_the_order() -> None:
    """Options of different names keep their places among each other."""
    added = NodeEvent(add=AddedNodes(like="n1", count=3))
    taint = Taint("team", "x", "NoExecute")

    assert (
        added,
        NodeEvent(lose=LostDomain(topology_key="topology.kubernetes.io/zone", value="a")),
        NodeEvent(cordon="n2"),
        added,
        NodeEvent(drain="n1-new-1"),
        tainting("n3", taint),
        tainting("n3", taint._replace(value="")),
    ) == _read(
        *("--add", "3", "like", "n1", "--lose", "zone=a", "--other", "x", "--cordon", "n2"),
        *("--add", "3", "like", "n1", "--drain=n1-new-1", "--taint", "n3", "team=x:NoExecute"),
        *("--taint", "n3", "team:NoExecute"),
    )
    assert () == _read()


def test_labels() -> None:
    """A node gets one; those of new nodes belong to the --add before them. Topology keys may be short."""
    zone = "topology.kubernetes.io/zone"

    assert (
        NodeEvent(label=LabeledNode(node="n1", key="example.com/rack", value="r=1")),
        NodeEvent(
            add=AddedNodes(
                like="n1",
                count=2,
                labels=[NodeLabel(key=zone, value="d"), NodeLabel(key="example.com/rack", value="")],
                without_taints=["team"],
            )
        ),
    ) == _read(
        *("--label", "n1", "example.com/rack=r=1", "--add", "2", "like", "n1", "--with-label", "zone=d"),
        *("--without-taint", "team", "--with-label", "example.com/rack="),
    )


def test_what_is_taken_back() -> None:
    """A taint is named as for kubectl; a taint that new nodes lack belongs to the --add before it."""
    added = NodeEvent(add=AddedNodes(like="n1", count=1))

    assert (
        NodeEvent(uncordon="n1"),
        NodeEvent(untaint=UntaintedNode(node="n1", key="team")),
        NodeEvent(untaint=UntaintedNode(node="n1", key="team", effect=TaintEffect.NO_EXECUTE)),
        NodeEvent(add=AddedNodes(like="n1", without_taints=["team", "gpu"])),
        added,
    ) == _read(
        *("--uncordon", "n1", "--untaint", "n1", "team-", "--untaint", "n1", "team:NoExecute"),
        *("--add", "1", "like", "n1", "--without-taint", "team", "--without-taint", "gpu"),
        *("--add", "1", "like", "n1"),
    )


def test_an_outage() -> None:
    """All nodes that are lost stay, unreachable."""
    actions = _read("--lose", "rack=1", "--unreachable", "--drain", "n1", "--lose", "region=r")

    assert [("rack", True), ("topology.kubernetes.io/region", True)] == [
        (event.lose.key, event.lose.unreachable) for event in actions if event.lose is not None
    ]
    assert 3 == len(actions)


def test_what_is_wrong() -> None:
    """Every option that is not what it should be is named, at once."""
    with pytest.raises(UsageError) as caught:
        _read(
            *("--lose", "zone", "--lose", "=a", "--taint", "n1", "team", "--taint", "n1", "team:Never"),
            *("--add", "3", "as", "n1", "--add", "0", "like", "n1", "--add", "9" * 5000, "like", "n1"),
            *("--add", "3", "like", "n1", "--drain", "n1", "--without-taint", "team"),
            *("--untaint", "n1", "team=x", "--untaint", "n1", "team:Never"),
            *("--label", "n1", "zone", "--with-label", "zone=d"),
        )

    named = [line.partition(":")[0] for line in str(caught.value).splitlines()]
    assert ["--lose"] * 2 + ["--taint"] * 2 + ["--add"] * 3 + ["--without-taint"] + ["--untaint"] * 2 + [
        "--label",
        "--with-label",
    ] == named


def test_too_few_words() -> None:
    """An option that wants two words says so."""
    with pytest.raises(click.UsageError):
        _read("--taint", "n1")
