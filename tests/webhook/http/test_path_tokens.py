"""The tokens in the paths of reviews: read again, answered for a day after they are gone, never told."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from webhook.http import path_tokens
from webhook.http.path_tokens import OVERLAP_S, PathTokens
from webhook.registration import split_path
from webhook.telemetry.metrics import Telemetry

OLD, NEW = "o" * 32, "n-_" * 32


class Clock:
    """Seconds that a test lets pass."""

    s = 0.0

    def __call__(self) -> float:
        return self.s


class Tokens:
    """Tokens of a file that changes, as a worker has them."""

    def __init__(self, folder: Path, text: str | None) -> None:
        self.file, self.clock = folder / "tokens", Clock()
        self._telemetry = Telemetry("1", registry=CollectorRegistry())
        if text is not None:
            self.file.write_text(text)
        self.read = PathTokens(self.file, now=self.clock)

    def becomes(self, text: str | None) -> None:
        """Change the file, and let the worker look after its components."""
        self.file.unlink(missing_ok=True)
        if text is not None:
            self.file.write_text(text)
        self.read.observe(self._telemetry)

    def admitted(self) -> list[str]:
        return [token for token in (OLD, NEW) if self.read.admits(token)]


@pytest.mark.parametrize(
    ("path", "route", "token"),
    [
        pytest.param("/validate", "/validate", "", id="none"),
        pytest.param("/validate/", "/validate", "", id="an empty one"),
        pytest.param("/mutate/a", "/mutate", "a", id="one"),
        pytest.param("/mutate/a/b", "/mutate", "a/b", id="more than one"),
        *(
            pytest.param(path, "", "", id=path or "empty")
            for path in (
                "",
                "/",
                "validate",
                "xvalidate/a",
                "//validate/a",
                "/Validate/a",
                "/validatea",
                "/metrics/a",
            )
        ),
    ],
)
def test_split_path(path: str, route: str, token: str) -> None:
    """Only what begins with a route of reviews has a token."""
    assert (route, token) == split_path(path)


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        pytest.param(OLD, [OLD], id="one"),
        pytest.param(f"{OLD}\n{NEW}\n", [OLD, NEW], id="two"),
        pytest.param(f"\r\n {NEW} \r\n\n", [NEW], id="with white space"),
    ],
)
def test_tokens(tmp_path: Path, text: str, admitted: list[str]) -> None:
    """Each line is one; nothing else is admitted, whatever a path holds."""
    tokens = Tokens(tmp_path, text)

    assert [] == tokens.read.warnings()
    assert admitted == tokens.admitted()
    for other in ("", OLD[:-1], f"{OLD}x", f"{OLD}\n{NEW}", "\udcff" * 32, "ö" * 32, "x" * 100_000):
        assert not tokens.read.admits(other)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="no file"),
        pytest.param("", "it has no token", id="empty"),
        pytest.param(" \n", "it has no token", id="white space"),
        pytest.param(f"{OLD}\n{NEW[:31]}", "token 2 must be", id="a short one"),
        pytest.param("x" * 257, "token 1 must be", id="a long one"),
        pytest.param(f"/validate/{OLD}", "token 1 must be", id="a path"),
        pytest.param("ö" * 32, "token 1 must be", id="other letters"),
        pytest.param("x" * 100_000, "token 1 must be", id="no end"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str | None, why: str) -> None:
    """Nobody is admitted, and why is said without a word of the file; the last good tokens go on."""
    closed, before = Tokens(tmp_path, text), Tokens(tmp_path, OLD)
    before.becomes(text)
    (warning,) = closed.read.warnings()

    assert f"--path-tokens {closed.file}: {why}" in warning
    assert warning.endswith("; reviews reveal nothing of the cluster")
    assert not [word for word in (text or "").split() if word in warning]
    assert [] == closed.admitted()
    assert [OLD] == before.admitted()
    assert "no review" not in before.read.warnings()[0]


def test_a_file_that_comes(tmp_path: Path) -> None:
    """A Secret may be made after the pods."""
    tokens = Tokens(tmp_path, None)
    tokens.becomes(OLD)

    assert [] == tokens.read.warnings()
    assert [OLD] == tokens.admitted()


def test_rotation(tmp_path: Path) -> None:
    """The old one is answered for a day, counted from when it was gone; the new one at once."""
    tokens = Tokens(tmp_path, OLD)
    tokens.becomes(NEW)
    both = tokens.admitted()
    tokens.clock.s = OVERLAP_S - 1
    tokens.becomes(NEW)
    late = tokens.admitted()
    tokens.clock.s = OVERLAP_S
    over = tokens.admitted()
    tokens.becomes(OLD)

    assert [OLD, NEW] == both == late
    assert [NEW] == over
    assert [OLD, NEW] == tokens.admitted()


def test_every_token_takes_as_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are compared, in constant time, wherever the one that is offered stands."""
    compared: list[bytes] = []

    def noting(offered: bytes, known: bytes) -> bool:
        compared.append(known)
        return offered == known

    monkeypatch.setattr(path_tokens, "compare_digest", noting)
    tokens = Tokens(tmp_path, f"{OLD}\n{NEW}")
    for offered in (OLD, NEW, "x"):
        compared.clear()
        tokens.read.admits(offered)

        assert [OLD.encode(), NEW.encode()] == compared


def test_strangers_are_told_of(tmp_path: Path) -> None:
    """For a while, so that people notice registrations with another token."""
    tokens = Tokens(tmp_path, OLD)
    tokens.read.admits(OLD)
    before = tokens.read.warnings()
    tokens.read.admits("")
    (during,) = tokens.read.warnings()
    tokens.clock.s = 61

    assert [] == before == tokens.read.warnings()
    assert "without the secret path" in during
