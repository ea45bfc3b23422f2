"""The secrets of the page's server."""

from __future__ import annotations

import hmac
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.webhook.ui.pages import FILES, a_page_cluster
from webhook.ui.app import create_page
from webhook.ui.readings import PageState, Readings
from webhook.ui.server import PageAccess


def test_secrets_are_new_each_time() -> None:
    """Two runs share neither token nor code, and the code does not tell the token."""
    one, other = PageAccess(1), PageAccess(1)

    assert 4 == len({one.token, other.token, one.opening, other.opening})
    assert one.token in one.address
    assert one.token not in one.opening


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a comparison takes says nothing of how much agrees."""
    compared, in_constant_time = [], hmac.compare_digest

    def compare(given: bytes, wanted: bytes) -> bool:
        compared.append((given, wanted))
        return in_constant_time(given, wanted)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    page = PageAccess(1, "abc")

    assert [True, False, False] == [page.bears_token(f"Bearer {given}") for given in ("abc", "abd", "")]
    assert [(b"abc", b"abc"), (b"abd", b"abc"), (b"", b"abc")] == compared


def test_a_browser_is_sent_to_the_page_once() -> None:
    """Who reads the browser's arguments comes too late; of several at once one gets there."""
    page = PageAccess(4242)
    client = create_page(Readings(PageState.of(a_page_cluster())), FILES, page)
    path = urlsplit(page.opening).path

    def status(path: str) -> tuple[int, str | None]:
        answer = client.test_client().get(path, headers={"Host": "127.0.0.1:4242"})
        return answer.status_code, answer.headers.get("Location")

    assert (410, None) == status("/open/guessed")
    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(status, [path] * 8))
    assert [(303, page.address), *[(410, None)] * 7] == found
