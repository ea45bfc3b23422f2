"""Diagnoses for programs."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import pytest

from tests.webhook.doctor.installation import healthy, ours
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.facts import Facts, Unknown
from webhook.doctor.json_report import SCHEMA, render

FORM = json.loads(resources.files("webhook.doctor").joinpath("doctor.schema.json").read_text())


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(healthy(), id="healthy"),
        pytest.param(healthy(ours=ours(ca_bundle=b"", timeout_s=20)), id="problems"),
        pytest.param(healthy(version=Unknown("no"), replicas=Unknown("no")), id="skipped"),
    ],
)
def test_the_form(facts: Facts) -> None:
    """Reports are as the schema says, and their counts are those of their findings."""
    report = json.loads(render(diagnose(facts, "https://c")))
    jsonschema.Draft202012Validator(FORM).validate(report)
    found = [finding["status"] for finding in report["findings"]]

    assert SCHEMA == report["schema"]
    assert report["summary"] == {
        "problems": found.count("problem"),
        "warnings": found.count("warning"),
        "skipped": found.count("skipped"),
        "ok": found.count("ok"),
    }


def test_a_finding() -> None:
    """What a program needs stands in fields of its own."""
    report = json.loads(render(diagnose(healthy(ours=ours(ca_bundle=b"")), "https://c")))

    assert {
        "group": "Certificates",
        "check": "ca-bundle",
        "status": "problem",
        "evidence": "mutate.evenkeel.dev has no caBundle: the API server trusts no replica",
        "remedy": "evenkeel certs inject -n evenkeel --secret evenkeel-tls --webhooks evenkeel",
    } == report["findings"][0]
