"""An API server that is not waited for long."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

import pytest

from webhook.doctor.deadline import HurriedApiServer, SilentApiServerError
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch

HANGS = "no answer within 5 s; it has answered before, so it or its etcd hangs"


class Slow(ApiServer):
    """Takes its time, by a clock of its own, and is silent from some request on."""

    url, namespace = "https://slow", "default"

    def __init__(self, *, takes_s: float, answers: int) -> None:
        self.now = 0.0
        self.takes_s, self.answers = takes_s, answers
        self.waits: list[float] = []

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Answer:
        """Answer if it is not silent yet."""
        self.waits.append(timeout_s)
        silent = len(self.waits) > self.answers
        self.now += timeout_s if silent else self.takes_s
        if silent:
            raise UnreachableError(f"no answer within {timeout_s:.0f} s")
        return Answer(200, b"{}")

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Refuse: nothing here is watched."""
        raise UnreachableError("no watches")


def ask(api: ApiServer, times: int) -> list[str]:
    """Return what becomes of some requests."""
    came = []
    for _ in range(times):
        try:
            api.call("GET", "/version")
            came.append("answer")
        except SilentApiServerError as error:
            came.append(str(error))
    return came


@pytest.mark.parametrize(
    ("takes_s", "answers", "came", "waits"),
    [
        pytest.param(1, 9, ["answer"] * 4, [5, 5, 5, 5], id="1 s each: 5 s at most"),
        pytest.param(
            4, 9, ["answer"] * 3 + ["not read within 10 s; --timeout gives more"], [5, 5, 2], id="4 s each"
        ),
        pytest.param(1, 2, ["answer"] * 2 + [HANGS] * 2, [5, 5, 5], id="silent after 2"),
    ],
)
def test_it_ends_in_time(takes_s: float, answers: int, came: list[str], waits: list[float]) -> None:
    """One answer takes 5 s at most, all together 10; one that is silent is not asked again."""
    slow = Slow(takes_s=takes_s, answers=answers)
    hurried = HurriedApiServer(slow, total_s=10.0, clock=lambda: slow.now)

    assert came == ask(hurried, 4)
    assert waits == slow.waits
    assert slow.now <= 12


def test_nobody_to_begin_with() -> None:
    """Without any answer there is nothing to report."""
    slow = Slow(takes_s=1, answers=0)
    with pytest.raises(UnreachableError, match="no answer within 5 s") as raised:
        HurriedApiServer(slow, total_s=10.0).call("GET", "/version")

    assert not isinstance(raised.value, SilentApiServerError)


def test_what_it_passes_on() -> None:
    """It is the other one, but for its patience."""
    hurried = HurriedApiServer(Slow(takes_s=1, answers=1), total_s=10.0)

    assert ("https://slow", "default") == (hurried.url, hurried.namespace)
    with pytest.raises(UnreachableError, match="no watches"), hurried.watch("/", {}, idle_s=1):
        pass
