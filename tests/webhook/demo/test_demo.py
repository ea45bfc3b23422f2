"""The demo, run as ``make demo`` runs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

#: The lines that a user must have seen, in this order.
SEEN = (
    "denied. kubectl prints:",
    "allowed, with a patch.",
    "Before:",
    "topologySpreadConstraints: []",
    "After:",
    "evenkeel.dev/injected-by: soft-spread",
    "topologyKey: topology.kubernetes.io/zone",
    "matchLabels:",
    "allowed as it is.",
    "allowed, with a warning. kubectl prints:",
    "the next pod fits 0 of 6 nodes",
    "POST /v1/score: Pod → HTTP 200",
    "NODE  ZONE    SCORE",
    "n3    zone-b    100",
    "POST /v1/explain: Deployment → HTTP 200",
    "fits none of 6 nodes",
    "The server has stopped.",
    "evenkeel ui --cluster webhook/demo/cluster.yaml",
    "evenkeel lint docs/examples",
    "evenkeel audit --live",
)


def test_the_demo_shows_everything_and_ends() -> None:
    """Whoever tries Evenkeel sees every part of it work, and has their prompt back."""
    done = subprocess.run(
        [sys.executable, "-m", "webhook.demo"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    text = done.stdout.decode()
    places = [text.find(part) for part in SEEN]

    assert done.returncode == 0, done.stderr.decode()
    assert -1 not in places, text
    assert sorted(places) == places
    # The server's log is no part of the story.
    assert "review_denied" not in text + done.stderr.decode()
    assert "Traceback" not in text + done.stderr.decode()
