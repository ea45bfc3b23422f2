"""The built files of the page, and the page as one file that needs no server: with a report in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from importlib import resources
from pathlib import PurePosixPath
from typing import Any, Final, Literal, NamedTuple, TypedDict

import orjson

from policies.manifests.errors import UsageError
from webhook.distribution import release

#: The folder of the built files.
FOLDER: Final = "built"
#: The files that every page has.
INDEX, SCRIPT, STYLE = "index.html", "app.js", "app.css"
#: The version of the form of an embedded report.
VERSION: Final = 1
#: The id of the element that has the report.
ELEMENT: Final = "evenkeel-report"
#: What stands in a report of the page for the answers that the browser has, and puts there.
RECORDING: Final = "evenkeel-recording"
#: Bytes of a report: browsers take seconds to read more.
MOST_BYTES: Final = 64 * 1024 * 1024
#: What the index refers to, which a file of its own has within, and where the report goes.
_STYLE_LINK: Final = f'<link rel="stylesheet" href="./{STYLE}">'
_SCRIPT_LINK: Final = f'<script src="./{SCRIPT}" defer></script>'
_PLACE: Final = "<!-- evenkeel-report -->"
#: Media types, whatever the machine's own tables say: nosniff takes them at their word.
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: What ends a script, or changes how it is read, within a text of JSON; as JSON it may be written otherwise.
_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class ReportAbout(TypedDict):
    """The subject of a report, for who is sent it alone."""

    title: str  #: What it is about, such as a workload; empty for what says it itself.
    action: str  #: What was done to it, in words; empty for nothing.
    verdict: str  #: What came of it, in a sentence; empty where that is not known.
    cluster: str  #: The cluster that it was judged by; empty for none.
    #: When that was read, RFC 3339; for a file, when it was last written. Empty where that is not known.
    readAt: str
    writtenAt: str  #: When the report was written.
    command: str  #: The command that writes the same.


class EmbeddedReport(TypedDict):
    """A report in a page of its own."""

    #: The command that made it, or the page itself.
    kind: Literal["explain", "what-if", "plan", "lint", "page"]
    version: Literal[1]  #: The version of this form.
    evenkeel: str  #: The version of Evenkeel.
    about: ReportAbout  #: What it is about.
    #: What the command prints with ``-o json``; of the page the answers that it showed, or that a command
    #: recorded.
    document: Any


def report_page(kind: str, document: bytes, about: ReportAbout) -> str:
    """Return a report as a page that opens from disk and sends no request.

    Args:
        kind: The command that made it.
        about: What it is about.
        document: What the command prints with ``-o json``.

    Raises:
        UsageError: It is too large for a page.
    """
    if len(document) > MOST_BYTES:
        size = f"{len(document) >> 20:,} MiB; a page holds {MOST_BYTES >> 20} MiB"
        raise UsageError(f"--format: Invalid value: html: the report is too large: {size}: use json")
    files = built_files()
    style, script = files[STYLE].content.decode(), files[SCRIPT].content.decode()
    report = {"kind": kind, "version": VERSION, "evenkeel": release(), "about": about}
    text = _escaped(orjson.dumps(report | {"document": orjson.Fragment(document)}))
    data = f'<script type="application/json" id="{ELEMENT}">{text}</script>'
    page = _put(files[INDEX].content.decode(), "<head>", f"<head>\n{_policy(style, script)}")
    page = _put(page, _STYLE_LINK, f"<style>{style}</style>")
    # Behind the report, which it reads as soon as it runs; "defer" holds for files alone.
    page = _put(page, _SCRIPT_LINK, "")
    return _put(page, _PLACE, f"{data}\n<script>{script}</script>")


def _put(page: str, mark: str, text: str) -> str:
    before, found, after = page.partition(mark)
    if not found:
        raise ValueError(f"the built page has no {mark}")
    return before + text + after


def _escaped(json: bytes) -> str:
    r"""Return JSON that ends no script.

    >>> _escaped(b'{"name": "</script><!--"}')
    '{"name": "\\u003c/script\\u003e\\u003c!--"}'
    """
    for raw, escape in _ESCAPES:
        json = json.replace(raw, escape)
    return json.decode()


def _policy(style: str, script: str) -> str:
    """Return the element that lets a browser run what the page is made of, and nothing else."""
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class BuiltFile(NamedTuple):
    """One file."""

    content: bytes  #: Its bytes.
    packed: bytes  #: The same with gzip.
    media_type: str  #: Its type.


def built_files() -> Mapping[str, BuiltFile]:
    """Return the built files by name; there are no folders."""
    folder = resources.files(__package__).joinpath(FOLDER)
    return {
        entry.name: _built(entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()
    }


def _built(name: str, content: bytes) -> BuiltFile:
    media_type = _TYPES.get(PurePosixPath(name).suffix) or mimetypes.guess_type(name)[0]
    return BuiltFile(content, gzip.compress(content, mtime=0), media_type or "application/octet-stream")
