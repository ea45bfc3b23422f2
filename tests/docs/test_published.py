"""Writing the generated schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import jsonschema
import pytest

from docs.generator import published
from docs.generator.published import report_schemas
from planning.advise import json as advise_json
from planning.audit import deletion_costs_text as deletion_costs
from planning.audit import evictions_text as evictions
from planning.audit import json as audit_json
from planning.explain import json as explain_json
from planning.explain import score_json
from planning.what_if import simulate_json
from policies.manifests.wire import dumps
from tests.builders import a_constraint, a_pod
from tests.planning.advise.advices import advices
from tests.planning.audit.audits import an_audit_run
from tests.planning.audit.rebalances import rebalances, scale_downs
from tests.planning.explain.explanations import UNEVEN, a_spread_pod, an_explanation
from tests.planning.verdicts import a_placement
from tests.planning.what_if.outcomes import OUTCOMES
from tests.planning.what_if.what_ifs import a_large_loss, a_loss, an_addition

#: Forms whose answers are compared with them in the tests of what writes them.
ELSEWHERE = {
    "conformance/conformance.schema.json",
    "policies/lint/lint.schema.json",
    "planning/schemas/pending.schema.json",
    "planning/schemas/plan.schema.json",
    "planning/schemas/what_if.schema.json",
    "policies/lint/policy_check.schema.json",
    "policies/lint/policy_test.schema.json",
    "policies/emit/policy_emit.schema.json",
    "policies/admission/policy_preview.schema.json",
}
#: Answers of each other form.
ANSWERS: dict[str, Callable[[], Iterable[bytes]]] = {
    "planning/schemas/advise.schema.json": lambda: map(advise_json.render, advices()),
    "planning/schemas/deletion_costs.schema.json": lambda: map(deletion_costs.render_json, scale_downs()),
    "planning/schemas/audit.schema.json": lambda: [audit_json.render(an_audit_run(top=7, left=1))],
    "planning/schemas/explain.schema.json": lambda: [
        explain_json.render(an_explanation(a_spread_pod(a_constraint()), *UNEVEN)),
        explain_json.render(an_explanation(a_pod())),
    ],
    "planning/schemas/evictions.schema.json": lambda: [evictions.render_json(*each) for each in rebalances()],
    "planning/schemas/score.schema.json": lambda: [
        score_json.render(a_placement(a_spread_pod(a_constraint()), *UNEVEN)),
        score_json.render(a_placement(a_pod(), *UNEVEN)),
    ],
    "planning/schemas/simulate.schema.json": lambda: [
        simulate_json.render(each) for each in (a_loss(), an_addition(), a_large_loss())
    ],
    "planning/schemas/what_if.schema.json": lambda: [dumps(make()) for make in OUTCOMES.values()],
}


def test_checked_in_files_are_current() -> None:
    """Each schema is in the file from which it is read."""
    texts = published.files()

    assert texts == {path: path.read_text() for path in texts}


def test_every_form_has_answers() -> None:
    """A new form has its answers here, or a test of its own."""
    assert report_schemas().keys() == ANSWERS.keys() | ELSEWHERE


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=[pytest.mark.slow] * ("advise" in file)) for file in ANSWERS]
)
def test_answers_are_of_their_form(file: str) -> None:
    """Answers have the fields of their schema, and no others: it closes every object."""
    schema = report_schemas()[file]
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    answers = list(map(json.loads, ANSWERS[file]()))

    for answer in answers:
        validator.validate(answer)
        assert not validator.is_valid(answer | {"more": 1})
        assert not any(
            validator.is_valid({name: value for name, value in answer.items() if name != left_out})
            for left_out in answer
        )
