"""An audit for programs."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema
import orjson
from hypothesis import given

from docs.generator.published import report_schemas
from planning.audit import json as audit_json
from planning.audit.run import AuditRun
from tests.planning.audit.audits import HOSTILE_RUNS, an_audit_run

VALIDATOR = jsonschema.Draft202012Validator(report_schemas()["planning/schemas/audit.schema.json"])


def test_json(golden: Callable[[str, str], str]) -> None:
    """Everything that the table says, as values."""
    text = orjson.dumps(orjson.loads(audit_json.render(an_audit_run())), option=orjson.OPT_INDENT_2).decode()

    assert golden("audit.json", text) == text


def test_schema_describes_every_field() -> None:
    """Reports have the fields of the schema, and no others: it closes every object."""
    report = orjson.loads(audit_json.render(an_audit_run(top=7, left=1)))

    VALIDATOR.validate(report)
    assert not VALIDATOR.is_valid(report | {"more": 1})
    assert not VALIDATOR.is_valid(report | {"workloads": [{}]})


@given(HOSTILE_RUNS)
def test_hostile(run: AuditRun) -> None:
    """Whatever names a cluster has, the report is JSON of the form."""
    VALIDATOR.validate(orjson.loads(audit_json.render(run)))
