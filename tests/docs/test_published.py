"""Writing the generated schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import cast

import jsonschema
import pytest

from docs.generator import published
from docs.generator.published import report_schemas
from policies.placement.rollout.simulated_rollout import SimulatedRollout
from policies.reports import upgrade
from policies.reports.advise import json as advise_json
from policies.reports.audit import json as audit_json
from policies.reports.explain import json as explain_json
from policies.reports.rebalance import deletion_costs, evictions
from policies.reports.score import json as score_json
from policies.reports.simulate import json as simulate_json
from policies.reports.survive import json as survive_json
from tests.builders import a_constraint, a_pod
from tests.policies.placement.survive.cluster_losses import a_mixed_report
from tests.policies.reports.advise.advices import advices
from tests.policies.reports.audit.audits import an_audit_run
from tests.policies.reports.explain.explanations import UNEVEN, a_spread_pod, an_explanation
from tests.policies.reports.rebalance.rebalances import rebalances, scale_downs
from tests.policies.reports.release_diffs import a_release_diff
from tests.policies.reports.rollout.test_text import ROLLOUTS
from tests.policies.reports.simulate.what_ifs import a_large_loss, a_loss, an_addition
from tests.policies.reports.survive.survivals import a_deployment, a_mixed_survival, a_survival
from tests.policies.reports.survive.test_cluster_reports import an_ended_report
from tests.policies.reports.verdicts import a_placement

#: Forms whose answers are compared with them in the tests of what writes them.
ELSEWHERE = {
    "conformance/conformance.schema.json",
    "policies/reports/lint.schema.json",
    "policies/reports/plan.schema.json",
    "policies/reports/policy_check.schema.json",
    "policies/reports/policy_test.schema.json",
    "policies/reports/policy_emit.schema.json",
    "policies/reports/policy_preview.schema.json",
}
#: Answers of each other form.
ANSWERS: dict[str, Callable[[], Iterable[bytes]]] = {
    "policies/reports/advise.schema.json": lambda: map(advise_json.render, advices()),
    "policies/reports/deletion_costs.schema.json": lambda: map(deletion_costs.render_json, scale_downs()),
    "policies/reports/audit.schema.json": lambda: [audit_json.render(an_audit_run(top=7, left=1))],
    "policies/reports/diff.schema.json": lambda: [upgrade.render_json(a_release_diff())],
    "policies/reports/explain.schema.json": lambda: [
        explain_json.render(an_explanation(a_spread_pod(a_constraint()), *UNEVEN)),
        explain_json.render(an_explanation(a_pod())),
    ],
    "policies/reports/rebalance.schema.json": lambda: [evictions.render_json(*each) for each in rebalances()],
    "policies/reports/score.schema.json": lambda: [
        score_json.render(a_placement(a_spread_pod(a_constraint()), *UNEVEN)),
        score_json.render(a_placement(a_pod(), *UNEVEN)),
    ],
    "policies/reports/simulate.schema.json": lambda: [
        *(simulate_json.render(each) for each in (a_loss(), an_addition(), a_large_loss())),
        *(
            simulate_json.render(cast("Callable[[], SimulatedRollout]", case.values[1])())
            for case in ROLLOUTS
        ),
    ],
    "policies/reports/survive_all.schema.json": lambda: [
        survive_json.render_cluster(a_mixed_report()),
        survive_json.render_cluster(an_ended_report()),
    ],
    "policies/reports/survive.schema.json": lambda: [
        survive_json.render(a_mixed_survival()),
        survive_json.render(a_survival(a_deployment(), tried=1)),
    ],
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
