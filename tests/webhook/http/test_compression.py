"""Which answers are compressed, and for whom."""

from __future__ import annotations

import gzip

import pytest

from tests.webhook.http.client import a_client
from webhook.http.state import ServerState


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        pytest.param("gzip", "gzip", id="gzip"),
        pytest.param("br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip", id="gzip among others"),
        pytest.param("*", "gzip", id="anything"),
        pytest.param(None, None, id="nothing said"),
        pytest.param("identity", None, id="as it is"),
        pytest.param("br", None, id="another one"),
        pytest.param("gzip;q=0", None, id="no gzip"),
        pytest.param("gzip;q=x,,;", None, id="nonsense"),
    ],
)
def test_who_asks(state: ServerState, accepted: str | None, encoding: str | None) -> None:
    """Who accepts gzip gets it; a cache is told that others may get something else."""
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    client = a_client(state)
    plain = client.get("/openapi.json").data
    answer = client.get("/openapi.json", headers=headers)

    assert encoding == answer.content_encoding
    assert plain == (gzip.decompress(answer.data) if encoding else answer.data)
    assert len(answer.data) == answer.content_length
    assert "Accept-Encoding" in answer.vary
    assert not encoding or len(answer.data) * 4 < len(plain)


@pytest.mark.parametrize(
    ("path", "encoding"),
    [
        pytest.param("/metrics", "gzip", id="metrics"),
        pytest.param("/livez", None, id="15 bytes"),
        pytest.param("/" + "x" * 2000, None, id="an error, which repeats no path"),
    ],
)
def test_what_is_large(state: ServerState, path: str, encoding: str | None) -> None:
    """Short answers are sent as they are."""
    answer = a_client(state).get(path, headers={"Accept-Encoding": "gzip"})

    assert encoding == answer.content_encoding
