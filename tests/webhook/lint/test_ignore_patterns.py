"""A pattern means what it means to Git, and takes no longer than it is long."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

import pytest

from tests.webhook.lint.git import git, make_repository
from webhook.lint.gitignore import parse_pattern

#: The parts of names in patterns; more than one star means something else before a slash alone.
_PARTS = [
    "a", "b", ".", "-", "*", "*a", "?", "[ab]", "[!a]", "[^b]", "[]a]", "[!]a]", "[a-b]", "[b-a]", "[-a]",
    "[a-]", "[\\]a]", "[[:alpha:]]", "[![:punct:]]", "[[:digit:]a-b]", "[a", "[[:nothing:]]", "\\a", "\\*",
    "\\", " ", "\\ ",
]  # fmt: skip


def _patterns(chance: random.Random) -> str:
    names = ["".join(chance.choices(_PARTS, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 3))]
    for place in range(len(names)):
        names[place] = "**" if chance.random() < 0.25 else names[place].replace("**", "*")
    start, end = chance.choice(["", "", "/"]), chance.choice(["", "", "/", " ", "//"])
    return f"{start}{'/'.join(names)}{end}"


def _path(chance: random.Random) -> str:
    names = [
        "".join(chance.choices("aabb.-*] é", k=chance.randint(1, 3))) for _ in range(chance.randint(1, 4))
    ]
    return "/".join(f"{name}x" if name in {".", ".."} else name for name in names)


def _is_ignored(pattern: str, path: str) -> bool:
    """Tell whether a pattern ignores a path or a folder above it."""
    parsed = parse_pattern(pattern.encode())
    names = path.encode().split(b"/")
    above = list(accumulate(([name] for name in names), list.__add__))
    return any(parsed.fits(each) and (len(each) < len(names) or not parsed.folders_only) for each in above)


@pytest.mark.slow
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    """Each of 600 patterns is compared with 20 paths."""
    make_repository(tmp_path, {".keep": ""})
    chance = random.Random(1)
    patterns = {f"{number}": _patterns(chance) for number in range(600)}
    for folder, pattern in patterns.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ".gitignore").write_text(f"{pattern}\n")
    asked = [(folder, _path(chance)) for folder in patterns for _ in range(20)]
    stdin = "".join(f"{folder}/{path}\0" for folder, path in asked)
    told = git(tmp_path, "check-ignore", "-z", "-v", "-n", "--stdin", "--no-index", stdin=stdin).split("\0")
    # Of each path the file, its line, the pattern and the path.
    expected = [bool(found) and not found.startswith("!") for found in told[2::4]]
    ours = [_is_ignored(patterns[folder], path) for folder, path in asked]

    assert len(expected) == len(asked)
    assert 400 < sum(expected)
    assert [] == [
        (patterns[folder], path)
        for (folder, path), theirs, mine in zip(asked, expected, ours, strict=True)
        if theirs != mine
    ]
