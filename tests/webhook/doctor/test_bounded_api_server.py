"""An API server with a time limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.doctor.installation import Cluster
from webhook.doctor.reader import BoundedApiServer
from webhook.kube.api_server import Answer, ApiServer, UnreachableError

HANGS = "no answer within 5 s; it has answered before, so it or its etcd hangs"


class Slow(Cluster):
    """Takes its time, by a clock of its own, and is silent from some request on."""

    def __init__(self, *, takes_s: float, answers: int) -> None:
        super().__init__()
        self.clock_s = 0.0
        self.takes_s, self.answers_left = takes_s, answers
        self.timeouts: list[float] = []

    def send(self, method: str, path: str, *, timeout_s: float = 0.0, **options: Any) -> Answer:
        """Answer if it is not silent yet."""
        self.timeouts.append(timeout_s)
        self.answers_left -= 1
        silent = self.answers_left < 0
        self.clock_s += timeout_s if silent else self.takes_s
        if silent:
            raise UnreachableError(f"no answer within {timeout_s:.0f} s")
        return super().send(method, path, timeout_s=timeout_s, **options)


def outcomes(api: ApiServer, times: int) -> list[str]:
    """Return the outcomes of some requests."""
    came = []
    for _ in range(times):
        try:
            api.call("GET", "/version")
            came.append("answer")
        except UnreachableError as error:
            came.append(str(error))
    return came


@pytest.mark.parametrize(
    ("takes_s", "answers", "came", "timeouts"),
    [
        pytest.param(1, 9, ["answer"] * 4, [5, 5, 5, 5], id="1 s each: 5 s at most"),
        pytest.param(
            4, 9, ["answer"] * 3 + ["not read within 10 s: --timeout allows more"], [5, 5, 2], id="4 s each"
        ),
        pytest.param(1, 2, ["answer"] * 2 + [HANGS] * 2, [5, 5, 5], id="silent after 2"),
    ],
)
def test_it_ends_in_time(takes_s: float, answers: int, came: list[str], timeouts: list[float]) -> None:
    """One answer takes 5 s at most, all together 10; a server that falls silent gets no more requests."""
    slow = Slow(takes_s=takes_s, answers=answers)
    bounded = BoundedApiServer(slow, total_s=10.0, clock=lambda: slow.clock_s)

    assert came == outcomes(bounded, 4)
    assert timeouts == slow.timeouts
    assert slow.clock_s <= 12


def test_no_answer_at_all() -> None:
    """A server that has never answered does not hang: it may be another one."""
    bounded = BoundedApiServer(Slow(takes_s=1, answers=0), total_s=10.0)

    assert ["no answer within 5 s"] == outcomes(bounded, 1)


def test_what_it_passes_on() -> None:
    """It is the other server, for a bounded time."""
    bounded = BoundedApiServer(Cluster(), total_s=10.0)

    assert (Cluster.url, Cluster.namespace) == (bounded.url, bounded.namespace)
    with pytest.raises(UnreachableError, match="no watches"), bounded.watch("/", {}, idle_s=1):
        pass
