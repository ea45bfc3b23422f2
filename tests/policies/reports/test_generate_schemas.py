"""Writing the generated schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from policies.config.schema import SCHEMA_FILE, schema_texts
from policies.placement.rollout.simulated_rollout import SimulatedRollout
from policies.reports import generate_schemas, upgrade
from policies.reports.advise import json as advise_json
from policies.reports.audit import json as audit_json
from policies.reports.explain import json as explain_json
from policies.reports.generate_schemas import report_schemas
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
    "lint.schema.json",
    "plan.schema.json",
    "policy_check.schema.json",
    "policy_test.schema.json",
    "policy_emit.schema.json",
    "policy_preview.schema.json",
}
#: Answers of each other form.
ANSWERS: dict[str, Callable[[], Iterable[bytes]]] = {
    "advise.schema.json": lambda: map(advise_json.render, advices()),
    "deletion_costs.schema.json": lambda: map(deletion_costs.render_json, scale_downs()),
    "audit.schema.json": lambda: [audit_json.render(an_audit_run(top=7, left=1))],
    "diff.schema.json": lambda: [upgrade.render_json(a_release_diff())],
    "explain.schema.json": lambda: [
        explain_json.render(an_explanation(a_spread_pod(a_constraint()), *UNEVEN)),
        explain_json.render(an_explanation(a_pod())),
    ],
    "rebalance.schema.json": lambda: [evictions.render_json(*each) for each in rebalances()],
    "score.schema.json": lambda: [
        score_json.render(a_placement(a_spread_pod(a_constraint()), *UNEVEN)),
        score_json.render(a_placement(a_pod(), *UNEVEN)),
    ],
    "simulate.schema.json": lambda: [
        *(simulate_json.render(each) for each in (a_loss(), an_addition(), a_large_loss())),
        *(
            simulate_json.render(cast("Callable[[], SimulatedRollout]", case.values[1])())
            for case in ROLLOUTS
        ),
    ],
    "survive_all.schema.json": lambda: [
        survive_json.render_cluster(a_mixed_report()),
        survive_json.render_cluster(an_ended_report()),
    ],
    "survive.schema.json": lambda: [
        survive_json.render(a_mixed_survival()),
        survive_json.render(a_survival(a_deployment(), tried=1)),
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the generator think it stands in another folder."""
    monkeypatch.setattr(generate_schemas, "__file__", str(tmp_path / "reports" / "generate.py"))
    return tmp_path


def test_check_of_the_checked_in_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The checked-in schema passes its check silently."""
    assert 0 == generate_schemas.main(["--check"])
    assert ("", "") == capsys.readouterr()


def test_writes_and_then_passes(folder: Path) -> None:
    """Written schemas pass the check."""
    codes = [
        generate_schemas.main(["--check"]),
        generate_schemas.main([]),
        generate_schemas.main(["--check"]),
    ]

    assert [1, 0, 0] == codes
    assert schema_texts() == {path.name: path.read_text() for path in (folder / "config").iterdir()}
    assert report_schemas() == {
        path.name: json.loads(path.read_text()) for path in (folder / "reports").iterdir()
    }


def test_stale_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stale file is one clear line and exit code 1."""
    generate_schemas.main([])
    (folder / "config" / SCHEMA_FILE).write_text("{}")

    assert 1 == generate_schemas.main(["--check"])
    assert (
        f"{folder / 'config' / SCHEMA_FILE}: stale; run `make generate` and commit the result\n"
        == capsys.readouterr().err
    )


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Other arguments are bad usage."""
    assert 2 == generate_schemas.main(["--chek"])
    assert capsys.readouterr().err.startswith("usage: ")


def test_every_form_has_answers() -> None:
    """A new form has its answers here, or a test of its own."""
    assert report_schemas().keys() == ANSWERS.keys() | ELSEWHERE


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=[pytest.mark.slow] * file.startswith("advise")) for file in ANSWERS]
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
