"""The changes by actions, as a person reads them; the golden files have the wording."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planning.simulation.simulated_queue import SimulatedQueue
from planning.what_if import simulate_text
from tests.planning.what_if.what_ifs import (
    a_large_loss,
    a_loss,
    a_loss_of_unknown_pods,
    an_addition,
    an_eviction,
)


@pytest.mark.parametrize(
    ("name", "simulated"),
    [
        pytest.param("what_if_lost.txt", a_loss(), id="a zone is lost"),
        pytest.param("what_if_unknown.txt", a_loss_of_unknown_pods(), id="other pods are not known"),
        pytest.param("what_if_added.txt", an_addition(), id="nodes are added for what is missing"),
        pytest.param("evicted.txt", an_eviction(), id="pods are evicted for others"),
        pytest.param("what_if_many.txt", a_large_loss(), id="many pods and domains"),
    ],
)
def test_text(name: str, simulated: SimulatedQueue, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = simulate_text.render(simulated, width=80, color=False)

    assert golden(name, text) == text
