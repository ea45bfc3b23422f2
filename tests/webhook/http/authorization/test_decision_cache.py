"""Decisions that are remembered, and asked for once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.waiting import eventually
from webhook.http.authorization.authorizer import DecisionCache
from webhook.http.authorization.token_reviewer import AccessDecision, Credential, RequestedAccess, Result
from webhook.rbac import Resource

TOKEN = Credential("t")
GET, POST = RequestedAccess("get", Resource.METRICS), RequestedAccess("create", Resource.PLACEMENTS)


class Asked:
    """Counts how often it decides."""

    def __init__(self, result: Result = Result.ALLOWED) -> None:
        self.times = 0
        self.decision = AccessDecision(result=result, user="jane")

    def __call__(self) -> AccessDecision:
        self.times += 1
        return self.decision


@pytest.mark.parametrize(
    ("result", "after_s", "times"),
    [
        pytest.param(Result.ALLOWED, 29, 1, id="allowed, 29 s later"),
        pytest.param(Result.ALLOWED, 31, 2, id="allowed, 31 s later"),
        pytest.param(Result.DENIED, 4, 1, id="denied, 4 s later"),
        pytest.param(Result.DENIED, 6, 2, id="denied, 6 s later"),
        pytest.param(Result.UNAUTHENTICATED, 6, 2, id="unauthenticated, 6 s later"),
        pytest.param(Result.ERROR, 0, 2, id="error, at once"),
    ],
)
def test_lifetimes(result: Result, after_s: float, times: int) -> None:
    """A yes counts longest, an error not at all."""
    now, asked = [100.0], Asked(result)
    memory = DecisionCache(now=lambda: now[0])
    memory.get_or_decide(TOKEN, GET, asked)
    now[0] += after_s
    decision = memory.get_or_decide(TOKEN, GET, asked)

    assert times == asked.times
    assert asked.decision == decision


@pytest.mark.parametrize(
    ("credential", "action"),
    [
        pytest.param(Credential("u"), GET, id="another token"),
        pytest.param(Credential("t", proxied=True), GET, id="another way"),
        pytest.param(TOKEN, POST, id="another action"),
    ],
)
def test_what_differs_is_asked_anew(credential: Credential, action: RequestedAccess) -> None:
    """A decision is about one token, the way it came, and one action."""
    memory = DecisionCache()
    memory.get_or_decide(TOKEN, GET, Asked())

    assert memory.recall(TOKEN, GET)
    assert memory.recall(credential, action) is None


def test_wrong_tokens_drive_out_no_right_one() -> None:
    """So many decisions are kept, of each sort; the oldest goes first."""
    memory = DecisionCache(most=3)
    memory.get_or_decide(TOKEN, GET, Asked())
    for number in range(50):
        memory.get_or_decide(Credential(f"wrong-{number}"), GET, Asked(Result.UNAUTHENTICATED))

    assert 4 == len(memory)
    assert memory.recall(TOKEN, GET)
    assert memory.recall(Credential("wrong-49"), GET)
    assert memory.recall(Credential("wrong-46"), GET) is None


def test_a_right_that_was_taken_away() -> None:
    """The newest decision counts, whatever the one before was."""
    now = [0.0]
    memory = DecisionCache(now=lambda: now[0])
    memory.get_or_decide(TOKEN, GET, Asked())
    now[0] = 31
    memory.get_or_decide(TOKEN, GET, Asked(Result.DENIED))
    kept = memory.recall(TOKEN, GET)

    assert kept is not None
    assert Result.DENIED == kept.result


def test_many_at_once_ask_once() -> None:
    """Whoever comes while it is being asked gets the same answer."""
    memory, go, asked = DecisionCache(), threading.Event(), Asked()

    def slow() -> AccessDecision:
        go.wait()
        return asked()

    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(memory.get_or_decide, TOKEN, GET, slow)
        others = [pool.submit(memory.get_or_decide, TOKEN, GET, asked) for _ in range(4)]
        eventually(lambda: all(other.running() for other in others))
        go.set()
        answers = [future.result() for future in (first, *others)]

    assert 1 == asked.times
    assert [asked.decision] * 5 == answers


def test_what_fails_is_forgotten() -> None:
    """An error of asking reaches who asked, and the next asks anew."""

    def fail() -> AccessDecision:
        raise ZeroDivisionError

    memory = DecisionCache()
    with pytest.raises(ZeroDivisionError):
        memory.get_or_decide(TOKEN, GET, fail)

    assert memory.get_or_decide(TOKEN, GET, Asked()).allowed
