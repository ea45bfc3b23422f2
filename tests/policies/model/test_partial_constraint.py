"""The rest of a constraint that the API server rejects."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.partial_constraint import readable_constraint

GOOD: dict[str, Any] = {
    "maxSkew": 2,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
OWN = {"matchLabels": {"app": "web", "tier": "front"}}
LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param({}, {}, id="all right"),
        pytest.param({"maxSkew": "3"}, {"maxSkew": 3}, id="a number in quotes"),
        pytest.param({"maxSkew": "٣"}, {"maxSkew": 1}, id="digits of another script"),
        pytest.param({"maxSkew": "9" * 5_000}, {"maxSkew": 1}, id="5,000 digits"),
        pytest.param({"maxSkew": "0"}, {"maxSkew": 1}, id="a number that is wrong too"),
        pytest.param({"maxSkew": True}, {"maxSkew": 1}, id="true"),
        pytest.param({"minDomains": "3"}, {"minDomains": 3}, id="minDomains in quotes"),
        pytest.param({"minDomains": []}, {}, id="minDomains a list"),
        pytest.param({"nodeAffinityPolicy": 1}, {}, id="nodeAffinityPolicy a number"),
        pytest.param({"matchLabelKeys": "rev"}, {"matchLabelKeys": ["rev"]}, id="a key without its list"),
        pytest.param({"matchLabelKeys": ["rev", 1]}, {"matchLabelKeys": ["rev"]}, id="a key that is none"),
        pytest.param({"maxSkew": 0}, {"maxSkew": 1}, id="maxSkew 0"),
        pytest.param({"maxSkew": 2**31}, {"maxSkew": 1}, id="maxSkew 2^31"),
        pytest.param({"maxSkew": None}, {"maxSkew": 1}, id="no maxSkew"),
        pytest.param({"whenUnsatisfiable": "doNotSchedule"}, {}, id="other letters"),
        pytest.param({"minDomains": 0}, {}, id="minDomains 0"),
        pytest.param(
            {"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"},
            {"whenUnsatisfiable": "ScheduleAnyway"},
            id="minDomains of a soft constraint",
        ),
        pytest.param({"nodeTaintsPolicy": "Never"}, {}, id="an unknown policy"),
        pytest.param({"matchLabelKeys": ["rev", "a b"]}, {"matchLabelKeys": ["rev"]}, id="no label"),
        pytest.param({"matchLabelKeys": ["app"]}, {"matchLabelKeys": ["app"]}, id="a key of the selector"),
        pytest.param(
            {"labelSelector": None, "matchLabelKeys": ["rev"]},
            {"labelSelector": OWN, "matchLabelKeys": ["rev"]},
            id="keys without a selector",
        ),
        pytest.param(
            {"labelSelector": None, "labelSelectors": OWN}, {"labelSelector": OWN}, id="a misspelled field"
        ),
        pytest.param({"paused": True}, {}, id="a field that means nothing"),
        pytest.param({"labelSelector": "web"}, {"labelSelector": OWN}, id="selector a text"),
        pytest.param({"labelSelector": {"matchLabels": {"a": 1}}}, {"labelSelector": OWN}, id="a number"),
    ],
)  # fmt: skip
def test_what_is_read(written: dict[str, Any], read: dict[str, Any]) -> None:
    """A value that cannot be read gives way to the one that finds fault with nothing."""
    found = readable_constraint(GOOD | written, LABELS, ())

    assert found is not None
    assert GOOD | read == found[1]


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        pytest.param({"topologyKey": 1}, LABELS, id="topologyKey"),
        pytest.param({"whenUnsatisfiable": {}}, LABELS, id="whenUnsatisfiable"),
        pytest.param({"whenUnsatisfiable": "Never"}, LABELS, id="an unknown whenUnsatisfiable"),
        pytest.param({"whenUnsatisfiable": None}, LABELS, id="no whenUnsatisfiable"),
        pytest.param({"topologyKey": ""}, LABELS, id="an empty topologyKey"),
        pytest.param({"labelSelector": None, "matchLabelKeys": ["rev"]}, {}, id="keys without anything"),
        pytest.param({"labelSelector": 1}, {}, id="neither selector nor labels"),
    ],
)
def test_what_cannot_be_read(written: dict[str, Any], labels: dict[str, str]) -> None:
    """Without these a constraint says nothing."""
    assert readable_constraint(GOOD | written, labels, ()) is None


def test_a_label_of_the_pods_that_cannot_be_read() -> None:
    """A selector that asks for it may be right."""
    found = readable_constraint(GOOD, {"tier": "front"}, {"app"})

    assert found is not None
    assert {"matchLabels": {"tier": "front"}} == found[1]["labelSelector"]
