"""A preview of policies, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema

from docs.generator.published import report_schemas
from policies.admission.effect_change import EffectChange
from policies.admission.preview_report import HEADLINES, PolicyPreviewReport, render_json, render_text
from policies.model.version import KNOWN_VERSION
from tests.policies.admission.test_preview_warnings import a_preview


def a_report(*affected: tuple[EffectChange, int]) -> PolicyPreviewReport:
    return PolicyPreviewReport.of(
        a_preview(*affected),
        KNOWN_VERSION,
        policies=["production"],
        in_force=["default"],
        not_looked_at=["DaemonSet objects: forbidden"],
    )


def test_the_report(golden: Callable[[str, str], str]) -> None:
    """Every change with the first workloads, how many were looked at, and what was not."""
    text = render_text(a_report(*((change, 3) for change in EffectChange)), top=2)

    assert golden("policy_preview.txt", text) == text


def test_nothing_changes(golden: Callable[[str, str], str]) -> None:
    """That is said, too."""
    text = render_text(a_report(), top=2)

    assert golden("policy_preview_nothing.txt", text) == text


def test_the_json(golden: Callable[[str, str], str]) -> None:
    """The same for programs: all workloads, whatever the text lists."""
    text = render_json(a_report((EffectChange.DENIED, 3)))

    assert golden("policy_preview.json", text) == text
    jsonschema.validate(json.loads(text), report_schemas()["policies/admission/policy_preview.schema.json"])


def test_every_change_has_a_headline() -> None:
    """In the order of their gravity."""
    assert list(EffectChange) == list(HEADLINES)
