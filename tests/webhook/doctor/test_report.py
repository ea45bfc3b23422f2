"""Reports for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import click
import jsonschema
import pytest

from tests.webhook.doctor.installation import Change, Cluster, diagnosis, stable
from webhook.doctor.diagnosis import SCHEMA, render_json, render_text

FORM = json.loads(resources.files("webhook.doctor").joinpath("doctor.schema.json").read_text())


def healthy(_cluster: Cluster) -> None:
    """Change nothing."""


def broken(cluster: Cluster) -> None:
    """Have problems, warnings and checks that are skipped."""
    cluster.set_webhooks(timeoutSeconds=20, namespaceSelector={}, failurePolicy="Fail")
    cluster.forbidden = lambda path: "/secrets/" in path or "/pods/https:" in path


def hidden(cluster: Cluster) -> None:
    cluster.forbidden = lambda _path: True


@pytest.mark.parametrize("change", [healthy, broken, hidden])
def test_text(golden: Callable[[str, str], str], change: Change) -> None:
    """Groups by their worst, a line for each result, what to do below it, and a summary."""
    text = click.unstyle(render_text(diagnosis(change)))

    assert golden(f"report_{change.__name__}.txt", stable(text)) == stable(text)


def test_the_guide_shows_its_words() -> None:
    """docs/operate.md begins with lines of a report, in their order."""
    page = (Path(__file__).parents[3] / "docs/operate.md").read_text()
    shown = [line for line in page.split("```text\n")[1].split("```")[0].splitlines() if line]
    report = render_text(diagnosis(lambda cluster: cluster.set_webhooks(timeoutSeconds=20)))
    lines = click.unstyle(report).splitlines()

    assert [line for line in lines if line in shown] == shown


@pytest.mark.parametrize("change", [healthy, broken, hidden])
def test_schema(change: Change) -> None:
    """Reports are as the schema says, and their counts are those of their findings."""
    report = json.loads(render_json(diagnosis(change)))
    jsonschema.Draft202012Validator(FORM).validate(report)
    statuses = [finding["status"] for finding in report["findings"]]

    assert SCHEMA == report["schema"]
    assert report["summary"] == {
        "problems": statuses.count("problem"),
        "warnings": statuses.count("warning"),
        "skipped": statuses.count("skipped"),
        "ok": statuses.count("ok"),
    }


def test_json(golden: Callable[[str, str], str]) -> None:
    """Programs get what people read, field by field."""
    text = stable(render_json(diagnosis(broken)).decode())

    assert golden("report_broken.json", text) == text


def test_hostile_text() -> None:
    """Texts of the cluster do not control the terminal."""

    def change(cluster: Cluster) -> None:
        cluster.answer_replica(1, 200, {"status": "ok", "warnings": ["a\x1b[31m\nb"]})

    assert "evenkeel-1: a\\x1b[31m\\nb\n" in render_text(diagnosis(change))


def test_styles() -> None:
    """A report is styled; click strips that where there is no terminal."""
    assert "\x1b[" in render_text(diagnosis())
