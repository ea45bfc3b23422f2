"""A loop of steps beside an election: when steps are taken, and what a step that takes long hears."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.waiting import PATIENCE_S
from webhook.component import LeaderComponent

#: Seconds that no test has.
LONG_S = 3600.0


class Controller(LeaderComponent):
    """Notes at each step whether it leads, and waits for what the test says."""

    def __init__(self) -> None:
        self.pause_s: float | None = None
        self.steps: list[bool] = []
        self.taken = threading.Semaphore(0)
        self.elections: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.resigned = 0
        super().__init__("test", elect=self.elect, event="testing")

    def elect(self, began: Callable[[], None], ended: Callable[[], None]) -> Callable[[], None]:
        self.elections.append((began, ended))
        return self.note_resigned

    def note_resigned(self) -> None:
        self.resigned += 1

    def _step(self) -> float | None:
        self.steps.append(self.leading)
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
    made.stop()


def test_steps(controller: Controller, caplog: pytest.LogCaptureFixture) -> None:
    """The first comes at once, the next ones when this process begins or ends to lead."""
    caplog.set_level(logging.INFO, logger="evenkeel")
    controller.start()
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
    controller.start()

    for _ in range(3):
        controller.await_step()


@pytest.mark.parametrize("stops", [False, True], ids=["ends to lead", "stops"])
def test_a_pause_within_a_step(*, stops: bool) -> None:
    """It ends when leading ends, and says so."""
    heard: list[bool] = []
    begun = threading.Event()

    class Pausing(Controller):
        """Each step pauses for long."""

        def _step(self) -> float | None:
            if self.leading:
                begun.set()
                heard.append(self.pause(LONG_S))
            return None

    controller = Pausing()
    controller.start()
    began, ended = controller.elections[0]
    began()
    assert begun.wait(PATIENCE_S)
    if not stops:
        ended()
    controller.stop()

    assert [False] == heard


def test_who_resigns_stands_again(controller: Controller) -> None:
    """One candidacy at a time, and none after the end."""
    controller.start()
    controller.campaign()
    controller.resign()
    controller.resign()
    controller.campaign()
    controller.stop()
    controller.campaign()

    assert (2, 2) == (len(controller.elections), controller.resigned)
    assert not controller.running
    assert not controller.leading
