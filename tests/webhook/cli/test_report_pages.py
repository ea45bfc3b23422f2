"""``-o html`` of every command that has it: a page with what ``-o json`` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from webhook.cli.main import command

EXAMPLES: Final = Path(__file__).parents[3] / "docs/examples"
CLUSTER: Final = ("--cluster", "cluster.yaml")
#: What differs between two runs.
MOMENTARY: Final = ("generatedAt",)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["explain", "-f", "web.yaml", *CLUSTER], id="explain"),
        pytest.param(["simulate", "-f", "web.yaml", "--rollout", *CLUSTER], id="simulate"),
        pytest.param(["audit", *CLUSTER], id="audit"),
        pytest.param(["plan", "--from", "checkout.yaml", "web.yaml", *CLUSTER], id="plan"),
        pytest.param(["lint", "--config", "none", "checkout.yaml", *CLUSTER], id="lint"),
    ],
)
def test_a_page_has_what_json_has(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """The exit code is the same, too."""
    monkeypatch.chdir(EXAMPLES)
    page, answer = (CliRunner().invoke(command, [*arguments, "-o", form]) for form in ("html", "json"))
    found = re.search(
        r'<script type="application/json" id="evenkeel-report">(.*?)</script>', page.stdout, re.DOTALL
    )

    assert answer.exit_code == page.exit_code, page.output
    assert found is not None
    report = json.loads(found[1])
    assert (arguments[0], 1) == (report["kind"], report["version"])
    assert _lasting(json.loads(answer.stdout)) == _lasting(report["document"])
    assert report["about"]["verdict"]


def _lasting(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in MOMENTARY}
