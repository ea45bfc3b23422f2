"""The page as one file with a report in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import orjson
import pytest

from policies.manifests.errors import UsageError
from webhook.ui import embedded
from webhook.ui.embedded import BuiltFile, ReportAbout, report_page

INDEX = """<!doctype html>
<html lang="en"><head>
<meta charset="utf-8">
<link rel="stylesheet" href="./app.css">
<script src="./app.js" defer></script>
</head><body><div id="app"></div><!-- evenkeel-report --></body></html>
"""
SCRIPT, STYLE = b'console.log("a & b < c");', b"a > b {color: red}"
HOSTILE = "</script><script>alert(1)</script><!--<script>\u2028\u2029&lt;\u202e" + "x" * 253

#: The subject of the reports of these tests.
ABOUT: ReportAbout = {
    "title": "Deployment shop/</script>",
    "action": "",
    "verdict": "",
    "cluster": "",
    "readAt": "",
    "writtenAt": "",
    "command": "",
}


class Page(HTMLParser):
    """Reads a page as a browser does."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements:
            tag, attributes, text = self.elements[-1]
            self.elements[-1] = (tag, attributes, text + data)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small bundle."""
    contents = {"index.html": INDEX.encode(), "app.js": SCRIPT, "app.css": STYLE}
    files = {name: BuiltFile(content, b"", "") for name, content in contents.items()}
    monkeypatch.setattr(embedded, "built_files", lambda: files)


def _page(document: Any) -> Page:
    return Page(report_page("audit", orjson.dumps(document), ABOUT))


@pytest.mark.usefixtures("small")
def test_hostile_names_stay_text() -> None:
    """No name ends the script that it is in; the document comes out as it went in."""
    document = {"name": HOSTILE, HOSTILE: [HOSTILE]}
    page = _page(document)
    scripts = [(attributes, text) for tag, attributes, text in page.elements if tag == "script"]

    assert 2 == len(scripts)
    attributes, text = scripts[0]
    assert {"type": "application/json", "id": "evenkeel-report"} == attributes
    report = json.loads(text)
    assert ("audit", 1, document) == (report["kind"], report["version"], report["document"])
    assert "\u2028" not in text
    assert SCRIPT.decode() == scripts[1][1].rstrip()


@pytest.mark.usefixtures("small")
def test_nothing_is_loaded() -> None:
    """The page refers to no file and may run nothing but its own script."""
    page = _page({})
    policy = next(
        attributes["content"] or "" for tag, attributes, _ in page.elements if "http-equiv" in attributes
    )
    hashes = [base64.b64encode(hashlib.sha256(content).digest()).decode() for content in (SCRIPT, STYLE)]

    assert not [each for each in page.elements if {"src", "href"} & each[1].keys()]
    assert hashes == re.findall(r"'sha256-([^']+)'", policy)
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src" not in policy


@pytest.mark.usefixtures("small")
def test_a_large_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that no browser opens is refused, with what to do."""
    monkeypatch.setattr(embedded, "MOST_BYTES", 100)

    with pytest.raises(UsageError, match="use json"):
        report_page("audit", orjson.dumps({"name": "x" * 100}), ABOUT)


def test_the_page_as_it_is_built() -> None:
    """The index that is shipped has every mark, and what is put into it ends no element."""
    page = _page({"name": HOSTILE})
    tags = [tag for tag, _, _ in page.elements]

    assert (2, 1) == (tags.count("script"), tags.count("style"))
    assert not [each for each in page.elements if "src" in each[1] or each[1].get("rel") == "stylesheet"]


def test_the_licenses_of_the_bundle_go_with_it() -> None:
    """A report is handed on without the wheel that has them."""
    notices = embedded.built_files()["third-party-notices.txt"].content.decode()

    assert "MIT License" in notices
    assert notices in report_page("explain", b"{}", ABOUT)
