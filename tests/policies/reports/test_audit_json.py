"""An audit for programs."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from policies.reports import audit_json
from tests.policies.reports.audits import an_audit_run


def test_json(golden: Callable[[str, str], str]) -> None:
    """Everything that the table says, as values."""
    text = orjson.dumps(orjson.loads(audit_json.render(an_audit_run())), option=orjson.OPT_INDENT_2).decode()

    assert golden("audit.json", text) == text
