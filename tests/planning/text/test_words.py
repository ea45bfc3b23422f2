"""The words that reports on placements share."""

from __future__ import annotations

import pytest

from planning.text.words import lost_volumes_text
from policies.model.pod_volumes import LostVolume

_OF_NODE = ("kubernetes.io/hostname", "n1")
_OF_ZONE = ("topology.ebs.csi.aws.com/zone", "eu-1a")


@pytest.mark.parametrize(
    ("label", "place", "until"),
    [
        pytest.param(_OF_ZONE, "in zone eu-1a, which is lost", "the zone is back", id="a driver's zone"),
        pytest.param(_OF_NODE, "on node n1, which is lost", "the node is back", id="a local volume"),
        pytest.param(
            None, "reached from nodes with pool in (a,b), of which there is none", "there is one", id="others"
        ),
    ],
)
def test_lost_volumes(label: tuple[str, str] | None, place: str, until: str) -> None:
    """The sentence says where the volume is, and what has to come back."""
    lost = LostVolume(pod="web-0", claim="data-web-0", volume="v", reached_from="pool in (a,b)", label=label)

    assert [f"web-0's volume is {place}: it stays pending until {until}"] == list(lost_volumes_text([lost]))


def test_many_lost_volumes() -> None:
    """Ten are told, and how many more there are."""
    lost = LostVolume(pod="web-0", claim="data-web-0", volume="v", reached_from="zone in (a)", label=None)
    *told, last = lost_volumes_text([lost] * 12)

    assert (10, "and 2 more volumes") == (len(told), last)
