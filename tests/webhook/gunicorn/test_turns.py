"""Turns of the event loop."""

from __future__ import annotations

import asyncio
from functools import partial

from webhook.gunicorn.turns import Turns


def test_one_in_each_turn() -> None:
    """However many wait, and wait again, each turn of the event loop has one, in their order."""

    async def run() -> list[list[str]]:
        turns, had, seen = Turns(), list[str](), list[list[str]]()

        def go_on(name: str, more: int) -> None:
            had.append(name)
            if more:
                turns.wait(partial(go_on, name, more - 1))

        for name in "ab":
            turns.wait(partial(go_on, name, 2))
        for _ in range(7):
            await asyncio.sleep(0)
            seen.append(had.copy())
        return seen

    assert [list("ababab")[:turn] for turn in (1, 2, 3, 4, 5, 6, 6)] == asyncio.run(run())


def test_a_failure_ends_one_turn() -> None:
    """Whoever fails in its turn takes no turn of others."""

    async def run() -> list[str]:
        turns, had = Turns(), list[str]()
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        turns.wait(lambda: had.append(str(1 // 0)))
        turns.wait(lambda: had.append("b"))
        for _ in range(3):
            await asyncio.sleep(0)
        return had

    assert ["b"] == asyncio.run(run())
