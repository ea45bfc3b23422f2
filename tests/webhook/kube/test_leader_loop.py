"""A loop of steps beside an election: when steps are taken, and what a step that takes long hears."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.waiting import PATIENCE_S
from webhook.kube.leader_loop import LeaderLoop

#: Seconds that no test has.
LONG_S = 3600.0


@dataclass
class Controller:
    """Notes at each step whether it leads, and waits for what the test says."""

    pause_s: float | None = None
    steps: list[bool] = field(default_factory=list)
    taken: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    elections: list[tuple[Callable[[], None], Callable[[], None]]] = field(default_factory=list)
    resigned: int = 0

    def __post_init__(self) -> None:
        self.loop = LeaderLoop("test", self.step, elect=self.elect, event="testing")

    def elect(self, began: Callable[[], None], ended: Callable[[], None]) -> Callable[[], None]:
        self.elections.append((began, ended))
        return self.resign

    def resign(self) -> None:
        self.resigned += 1

    def step(self) -> float | None:
        self.steps.append(self.loop.leading)
        self.taken.release()
        return self.pause_s

    def await_step(self) -> bool:
        assert self.taken.acquire(timeout=PATIENCE_S)
        return self.steps[-1]


@pytest.fixture
def controller() -> Iterator[Controller]:
    """A controller whose steps wait for the election."""
    made = Controller()
    yield made
    made.loop.stop()


def test_steps(controller: Controller, caplog: pytest.LogCaptureFixture) -> None:
    """The first comes at once, the next ones when this process begins or ends to lead."""
    caplog.set_level(logging.INFO, logger="evenkeel")
    controller.loop.start()
    first = controller.await_step()
    began, ended = controller.elections[0]
    began()
    second = controller.await_step()
    ended()
    third = controller.await_step()

    assert (False, True, False) == (first, second, third)
    assert ["testing_started", "testing_stopped"] == caplog.messages


def test_a_pause_between_steps(controller: Controller) -> None:
    """A step says when the next one is due."""
    controller.pause_s = 0.001
    controller.loop.start()

    for _ in range(3):
        controller.await_step()


@pytest.mark.parametrize("stops", [False, True], ids=["ends to lead", "stops"])
def test_a_pause_within_a_step(controller: Controller, *, stops: bool) -> None:
    """It ends when leading ends, and says so."""
    heard: list[bool] = []
    begun = threading.Event()

    def pausing() -> float | None:
        if controller.loop.leading:
            begun.set()
            heard.append(controller.loop.pause(LONG_S))
        return None

    loop = controller.loop = LeaderLoop("test", pausing, elect=controller.elect)
    loop.start()
    began, ended = controller.elections[0]
    began()
    assert begun.wait(PATIENCE_S)
    if stops:
        loop.stop()
    else:
        ended()
        loop.stop()

    assert [False] == heard


def test_who_resigns_stands_again(controller: Controller) -> None:
    """One candidacy at a time, and none after the end."""
    loop = controller.loop
    loop.start()
    loop.campaign()
    loop.resign()
    loop.resign()
    loop.campaign()
    loop.stop()
    loop.campaign()

    assert (2, 2) == (len(controller.elections), controller.resigned)
    assert not loop.running
    assert not loop.leading
