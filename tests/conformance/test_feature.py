"""Which fields of an answer show a feature."""

from __future__ import annotations

import pytest

from conformance.feature import FEATURES, FEATURES_BY_ID, AnswerField, features_of


@pytest.mark.parametrize(
    ("feature", "field", "concerned"),
    [
        ("KEP-895", AnswerField("nodes.feasible"), True),
        ("KEP-895", AnswerField("nodes.rejections", "PodTopologySpread"), True),
        ("KEP-895", AnswerField("nodes.rejections", "NodeAffinity"), False),
        ("KEP-3022", AnswerField("nodes.total"), False),
        ("profile", AnswerField("nodes.total"), True),
        ("filters", AnswerField("nodes.rejections", "NodeAffinity"), True),
    ],
)
def test_concerns(feature: str, field: AnswerField, *, concerned: bool) -> None:
    """A mistake of another plugin is none of a feature of PodTopologySpread."""
    assert concerned is FEATURES_BY_ID[feature].concerns(field)


def test_order() -> None:
    """Features of a case come in the order of reports, each with an id of its own."""
    assert ["KEP-895", "filters"] == [entry.id for entry in features_of(frozenset({"filters", "KEP-895"}))]
    assert len(FEATURES) == len(FEATURES_BY_ID)
