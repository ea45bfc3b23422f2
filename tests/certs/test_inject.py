"""Whom webhook configurations trust, and the patch that changes it."""

from __future__ import annotations

from typing import Any

import pytest

from certs.inject import encode_bundle, plan_injection, stale_webhooks, trusted_by
from tests.certs.builders import CA, a_pair

OURS = CA.certificate
OTHER = a_pair().certificate


def a_configuration(*values: object) -> dict[str, Any]:
    """Return a configuration with a webhook for each caBundle."""
    return {
        "metadata": {"name": "evenkeel", "resourceVersion": "7"},
        "webhooks": [
            {"name": f"w{number}", "clientConfig": {"caBundle": value}} for number, value in enumerate(values)
        ],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(encode_bundle([OURS]), {OURS}, id="1 authority"),
        pytest.param(encode_bundle([OURS, OTHER]), {OURS, OTHER}, id="2 certificates"),
        pytest.param("", set(), id="0 characters"),
        pytest.param(None, set(), id="null"),
        pytest.param(7, set(), id="a number"),
        pytest.param("Q0FfQlVORExF", set(), id="base64 of CA_BUNDLE"),
        pytest.param("CA_BUNDLE", set(), id="no base64"),
        pytest.param("é", set(), id="no ASCII"),
    ],
)
def test_bundles(value: object, expected: set[object]) -> None:
    """A caBundle that cannot be read trusts nobody."""
    configuration = a_configuration(value)

    assert {"w0": frozenset(expected)} == trusted_by(configuration)


@pytest.mark.parametrize(
    "configuration",
    [{}, {"webhooks": None}, {"webhooks": 3}, {"webhooks": [None, {}, {"clientConfig": []}]}],
    ids=["0 fields", "null", "a number", "3 broken webhooks"],
)
def test_what_is_no_configuration(configuration: dict[str, Any]) -> None:
    """An object without webhooks trusts nobody and is left alone."""
    assert ((), []) == (tuple(trusted_by(configuration)), plan_injection(configuration, [OURS]))


def test_a_patch_touches_only_stale_webhooks() -> None:
    """It compares the version that was read, and writes what differs."""
    right = encode_bundle([OURS])
    configuration = a_configuration(right, "", encode_bundle([OTHER]))
    patch = plan_injection(configuration, [OURS])

    assert stale_webhooks(configuration, [OURS]) == (1, 2)
    assert patch == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": right},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": right},
    ]


def test_nothing_is_patched_for_another_order() -> None:
    """A bundle of the same certificates in another order is not patched."""
    assert plan_injection(a_configuration(encode_bundle([OTHER, OURS])), [OURS, OTHER]) == []
