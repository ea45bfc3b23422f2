"""Outcomes as JSON have the form that is published."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import planning
from planning.simulation.outcome import MOST_NAMES, RANK
from policies.manifests.wire import dumps
from tests.planning.what_if.outcomes import OUTCOMES

SCHEMA = json.loads((Path(planning.__file__).parent / "schemas" / "what_if.schema.json").read_text("utf-8"))


@pytest.mark.parametrize("name", OUTCOMES)
def test_form(name: str) -> None:
    """Every outcome has it, with those of lost domains within."""
    outcome = json.loads(dumps(OUTCOMES[name]()))

    jsonschema.validate(outcome, SCHEMA)
    broken = {**outcome, "outcomes": [{**outcome, "verdict": None}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


@pytest.mark.parametrize("name", OUTCOMES)
def test_verdicts(name: str) -> None:
    """Verdicts have a value, a sentence that can be read aloud, and few names; the worst comes first."""
    outcome = json.loads(dumps(OUTCOMES[name]()))

    for found in outcome["workloads"]:
        ranks = [RANK[verdict["cause"]] for verdict in found["verdicts"]]
        assert sorted(ranks) == ranks
        for verdict in (*found["verdicts"], outcome["verdict"]):
            assert verdict["value"] in {True, False, None}
            assert len(verdict["sentence"]) <= 240
            assert len(verdict["pods"]) <= MOST_NAMES
