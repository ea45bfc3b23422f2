"""Files that cost the most: a seeded search over what strangers write, at two sizes.

Policies, ``.gitignore`` files, manifests and snapshots are made of repeated parts. Those whose time grows
fastest with their size are changed further. What is linear grows as the size does, whatever the machine.

Usage: python -m benchmarks.hostile_files [TRIES [SEED]]
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from policies.config.loader import load_policies
from policies.lint.run import lint
from policies.manifests.errors import DocumentError
from tests.policies.config.contexts import a_context
from webhook.lint.files import Text
from webhook.lint.gitignore import ignored_in
from webhook.lint.parse import parse
from webhook.snapshot_file import read_snapshot

#: Bytes of the smaller and of the larger form of a file.
SMALL: Final = 2**15
LARGE: Final = 2**18
#: How much longer the larger may take: between what is linear (8) and what is quadratic (64).
GROWTH: Final = 3 * LARGE / SMALL
#: Seconds below which growth is noise.
_LEAST_S: Final = 0.2
#: Candidates of each kind, and how many of the best are changed further.
TRIES: Final = 150
_KEPT: Final = 8

#: What files are made of: what is before a repeated part, the part, between two, and after the last.
_APP: Final = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a"
_POD: Final = "template: {metadata: {labels: {a: b}}, spec: {}}"
_BUDGET: Final = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: d%d}\nspec: {selector:"
_OBJECTS: Final = (
    (_APP + "\n  labels: {", "l%d: b", ", ", "}"),
    (_APP + "\nspec: {template: {spec: {topologySpreadConstraints: [", "{topologyKey: z%d}", ", ", "]}}}"),
    (_APP + "\nspec: {selector: {matchExpressions: [", "{key: a%d, operator: In, values: [b]}", ", ", "]}}"),
    (
        "apiVersion: v1\nkind: List\nitems:\n",
        "- {apiVersion: v1, kind: Pod, metadata: {name: a%d}}",
        "\n",
        "",
    ),
    ("", "apiVersion: v1\nkind: Pod\nmetadata: {name: a%d}\nspec: {nodeName: n}", "\n---\n", ""),
    ("", _APP + "%d\nspec: {selector: {matchLabels: {a: b}}, " + _POD + "}", "\n---\n", ""),
    ("", _BUDGET + " {matchLabels: {a: b}}, minAvailable: 1}", "\n---\n", ""),
    ("", "apiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {z: z%d}}", "\n---\n", ""),
)
_YAML: Final = (
    ("a: &x [", "*x", ", ", "]"), ("a: ", "[", "", ""), ("a: ", "{b: ", "", ""), ("", "- ", "", "a"),
    ("", "k%d: 1", "\n", ""), ("", "same: 1", "\n", ""), ("a: '", "''", "", "'"),
    ('a: "', "\\u2028", "", '"'),
    ("a: |\n", "  %d", "\n", ""), ("", "# %d", "\n", ""), ("", "---\na: %d", "\n", ""), ("", "? ", "", ""),
    ("a: &b {x: 1}\n", "c%d: {<<: *b}", "\n", ""), ("", "&a%d ", "", "x"), ("", "{{ x }}", "", ""),
    ("a: ", "!!str ", "", "x"), ("a: ", "9", "", ""), ("", "\t", "", ""), ("", "a%d:\n  b: c", "\n", ""),
)  # fmt: skip
_SPEC: Final = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: a}\nspec: {"
_POLICIES: Final = (
    (_SPEC + "scope: {namespaces: [", "a%d-*", ", ", "]}}"),
    (_SPEC + "scope: {namespaces: ['", "*a", "", "']}}"),
    (_SPEC + "exceptions: [", "{rules: [r%d], reason: x}", ", ", "]}"),
    (_SPEC + "exceptions: [{rules: [", "r%d", ", ", "], reason: x}]}"),
    (_SPEC + "exceptions: [", "{}", ", ", "]}"),
    (_SPEC + "rules: {", "r%d: {params: {a: 1}}", ", ", "}}"),
    (_SPEC + "topology: {domains: {", "k%d: [a]", ", ", "}}}"),
    (_SPEC + "defaults: {constraints: [", "{maxSkew: 1, topologyKey: z%d}", ", ", "]}}"),
    (_SPEC + "scope: {objectSelector: {matchExpressions: [", "{key: a, operator: In}", ", ", "]}}}"),
    (_SPEC, "x%d: 1", ", ", "}"), (_SPEC + "rules: ", "[", "", ""), (_SPEC + "rules: ", "{a: ", "", ""),
)  # fmt: skip
_IGNORES: Final = (
    ("", "*a*b", "\n", ""), ("", "*a", "", "b"), ("", "a/**/", "", "b"), ("", "**/a%d", "\n", ""),
    ("", "[a-z]", "", ""), ("", "[[:alpha:]", "", "]"), ("", "[", "", ""), ("", "!a%d", "\n", ""),
    ("", "\\", "", ""), ("", "?", "", ""), ("", "/", "", ""), ("", " ", "", ""), ("", "# a", "\n", ""),
)  # fmt: skip


class Part(NamedTuple):
    """A repeated part of a file: what is before it, the part, what is between two, and after the last."""

    before: str
    unit: str
    between: str
    after: str

    def text(self, size: int) -> str:
        """Return about so many bytes of it."""
        numbered = self.unit.count("%d")
        count = max(1, (size - len(self.before)) // len(self.unit + self.between))
        units = (self.unit % ((number,) * numbered) if numbered else self.unit for number in range(count))
        return self.before + self.between.join(units) + self.after


class _Kind(NamedTuple):
    """A kind of file: its parts, what joins several, and what reads it."""

    parts: tuple[tuple[str, str, str, str], ...]
    joint: str
    read: Callable[[bytes, Path], object]


def _lint(content: bytes, _: Path) -> None:
    lint(parse(Text("a.yaml", content, named=True)).objects, a_context())


def _policy(content: bytes, _: Path) -> None:
    load_policies(["a.yaml"], lambda _name: content)


def _ignore(content: bytes, folder: Path) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".gitignore").write_bytes(content)
    ignored = ignored_in(folder)
    for name in ("a" * 200, "a/" * 50 + "b", "b"):
        ignored.holds(folder / name)


def _snapshot(content: bytes, folder: Path) -> None:
    (folder / "cluster.yaml").write_bytes(content)
    read_snapshot(folder / "cluster.yaml", warn=lambda _line: None)


KINDS: Final = {
    "policy": _Kind(_POLICIES, "\n---\n", _policy),
    "gitignore": _Kind(_IGNORES, "\n", _ignore),
    "manifest": _Kind((*_OBJECTS, *_YAML), "\n---\n", _lint),
    "snapshot": _Kind((*_OBJECTS, *_YAML), "\n---\n", _snapshot),
}


def run(tries: int = TRIES, seed: int = 1) -> None:
    """Print what grows fastest and what takes longest of each kind."""
    chance = random.Random(seed)
    for name, kind in KINDS.items():
        found: dict[tuple[Part, ...], tuple[float, float]] = {}
        broken: dict[str, tuple[Part, ...]] = {}
        for _ in range(tries):
            best = sorted(found, key=lambda parts: found[parts], reverse=True)[:_KEPT]
            parts = _changed(chance.choice(best), kind, chance) if best and chance.random() < 0.7 else ()
            parts = parts or (Part(*chance.choice(kind.parts)),)
            if parts in found:
                parts = (Part(*chance.choice(kind.parts)), *parts[:2])
            try:
                small, large = (_seconds(parts, kind, size) for size in (SMALL, LARGE))
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                broken.setdefault(repr(error)[:100], parts)
                continue
            found[parts] = (large / max(small, 1e-4) if large > _LEAST_S else 0.0, large)
        print(f"{name}: {len(found)} files, of {LARGE >> 10} KiB in {max(map(_large, found.values())):.2f} s")
        growth, fastest = max((value[0], each) for each, value in found.items())
        mark = "ABOVE" if growth > GROWTH else "within"
        print(f"  8 times the bytes take {growth:.1f} times as long, {mark} {GROWTH:.0f}: {_shown(fastest)}")
        for text, each in broken.items():
            print(f"  ERROR {text}: {_shown(each)}")


def _large(found: tuple[float, float]) -> float:
    return found[1]


def _changed(parts: tuple[Part, ...], kind: _Kind, chance: random.Random) -> tuple[Part, ...]:
    """Return parts with another one, without one, or with a unit of another."""
    other = Part(*chance.choice(kind.parts))
    position = chance.randrange(len(parts))
    match chance.randrange(3):
        case 0:
            return (*parts[:2], other)
        case 1 if len(parts) > 1:
            return parts[:position] + parts[position + 1 :]
        case _:
            return (*parts[:position], parts[position]._replace(unit=other.unit), *parts[position + 1 :])


def _seconds(parts: tuple[Part, ...], kind: _Kind, size: int) -> float:
    content = kind.joint.join(part.text(size // len(parts)) for part in parts).encode()
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        # That a file is wrong is an answer, too.
        with contextlib.suppress(DocumentError):
            kind.read(content, Path(folder))
        return time.process_time() - began


def _shown(parts: tuple[Part, ...]) -> str:
    return " + ".join(repr(part.before[-40:] + part.unit[:40]) for part in parts)


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
