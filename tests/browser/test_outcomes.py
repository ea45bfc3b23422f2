"""Outcomes of every kind, shown by the one view that tabs and files have for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from planning.simulation.outcome import Cause, Outcome
from planning.text.outcome import as_sentence, mark
from policies.manifests.wire import dumps
from tests.browser.test_accessibility import OPTIONS, WIDTH
from tests.planning.what_if.outcomes import OUTCOMES
from webhook.ui.embedded import ReportAbout, report_page

ABOUT: ReportAbout = {
    "title": "Outcome",
    "action": "",
    "verdict": "",
    "cluster": "shop.json",
    "readAt": "",
    "writtenAt": "2026-11-28T12:00:00Z",
    "command": "",
}
#: How verdicts are shown by what they begin with elsewhere.
TONES = {"✗": "error", "?": "unknown", "!": "warning", "✓": "good"}


def opened(page: Page, folder: Path, outcome: Outcome) -> Outcome:
    """Open a file of an outcome."""
    file = folder / "outcome.html"
    file.write_text(report_page("what-if", dumps(outcome), ABOUT))
    page.goto(file.as_uri())
    page.get_by_test_id("outcome").wait_for()
    return outcome


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_verdict_comes_first(page: Page, tmp_path: Path, name: str) -> None:
    """It is the sentence of the text, with its reason; only what is well is green."""
    outcome = opened(page, tmp_path, OUTCOMES[name]())
    verdict = page.get_by_test_id("outcome").locator(":scope > *").first.get_by_test_id("verdict")

    expect(verdict).to_contain_text(as_sentence(outcome.verdict.sentence))
    expect(verdict).to_contain_text(outcome.verdict.why)
    assert f"notice {TONES[mark(outcome.verdict.cause)]}" == verdict.get_attribute("class")
    green = page.locator(".outcome .notice.good")
    assert (1 if outcome.verdict.cause is Cause.FITS else 0) == green.count()


@pytest.mark.parametrize("name", [name for name, make in OUTCOMES.items() if not make().outcomes])
def test_numbers_are_those_of_the_answer(page: Page, tmp_path: Path, name: str) -> None:
    """Of each workload; and what is left of the only one, for each key."""
    outcome = opened(page, tmp_path, OUTCOMES[name]())

    for row, found in zip(page.get_by_test_id("workload-outcome").all(), outcome.workloads, strict=True):
        for number in ("wanted", "before", "lowest", "after", "pending"):
            expect(row.locator(f"[data-number={number}]")).to_have_text(f"{getattr(found, number):,}")
    kept = outcome.workloads[0].survival if len(outcome.workloads) == 1 else ()
    shown = page.locator(".if-it-goes")
    expect(shown).to_have_count(len(kept))
    for row, each in zip(shown.all(), kept, strict=True):
        expect(row.locator(".badge")).to_contain_text(f"{each.left:,} left")
        expect(row.get_by_test_id("dumbbell")).to_have_count(len({*each.after, *(each.before or {})}))


@pytest.mark.parametrize("name", ["each_zone", "each_node"])
def test_losses_are_a_matrix(page: Page, tmp_path: Path, name: str) -> None:
    """A row for each workload, a column for each domain: what runs right after it is lost, and in the end."""
    outcome = opened(page, tmp_path, OUTCOMES[name]())
    losses = {
        event.lose.value: each for each in outcome.outcomes for event in each.scenario.events if event.lose
    }

    expect(page.get_by_test_id("loss")).to_have_count(len(losses))
    rows = page.get_by_test_id("matrix-row").all()
    for row, found in zip(rows, outcome.workloads, strict=True):
        cells = row.locator("td").all_inner_texts()[1:]
        for domain, text in zip(sorted(losses), cells, strict=True):
            own = next((each for each in losses[domain].workloads if each.ref == found.ref), None)
            if own is None:
                assert "none" == text
            else:
                numbers = [own.lowest] if own.lowest == own.after else [own.lowest, own.after]
                assert [str(number) for number in numbers] == text.split("\n")[0].rstrip(" !?✕").split(" → ")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", OUTCOMES)
def test_no_outcome_breaks_a_rule(page: Page, tmp_path: Path, name: str, width: int) -> None:
    """Names, order of headings, contrast; nothing is wider than the screen."""
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, tmp_path, OUTCOMES[name]())
    found = Axe().run(page, options=OPTIONS)

    assert 0 == found.violations_count, found.generate_report()
    assert page.evaluate(WIDTH) <= width
