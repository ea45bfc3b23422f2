"""Diagnoses for people."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import a_replica, healthy, ours
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.facts import Facts, Known, Unknown
from webhook.doctor.text_report import render


def told(facts: Facts, *, color: bool = False) -> str:
    return render(diagnose(facts, "https://cluster:6443"), color=color)


def test_a_report() -> None:
    """Groups by their worst, a line for each finding, and what to do below it."""
    lines = told(healthy(ours=ours(ca_bundle=b""))).splitlines()

    assert "Evenkeel in namespace evenkeel of https://cluster:6443 (Kubernetes 1.36)" == lines[0]
    assert "Certificates" == lines[2]
    assert (
        "  problem  ca-bundle: mutate.evenkeel.dev has no caBundle: the API server trusts no replica"
        == lines[3]
    )
    assert (
        "           do: evenkeel certs inject -n evenkeel --secret evenkeel-tls --webhooks evenkeel"
        == lines[4]
    )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(healthy(), "No problems, 36 ok", id="healthy"),
        pytest.param(healthy(ours=ours(ca_bundle=b"")), "2 problems, 32 ok", id="2 problems"),
        pytest.param(healthy(ours=ours(timeout_s=11)), "No problems, 2 warnings, 35 ok", id="2 warnings"),
        pytest.param(
            healthy(places=Unknown("may not list nodes")), "No problems, 35 ok, 1 skipped", id="1 skipped"
        ),
    ],
)
def test_summaries(facts: Facts, expected: str) -> None:
    """The last line counts."""
    assert expected == told(facts).splitlines()[-1]


def test_skipped_for_one_reason() -> None:
    """Checks of a group that lack the same are told together."""
    text = told(healthy(ours=Unknown("may not get webhook configurations")))

    assert (
        "  skipped  webhooks-registered, webhook-fields, rules-cover-kinds, rules-needless: "
        "may not get webhook configurations\n" in text
    )


def test_hostile_names() -> None:
    """Names from the cluster do not steer the terminal."""
    facts = healthy(
        replicas=Known((a_replica("evenkeel-1", image_id="\x1b[31m\nok"), a_replica("evenkeel-2")))
    )

    assert "1 of \\x1b[31m\\nok" in told(facts)


@pytest.mark.parametrize("color", [True, False])
def test_colors(*, color: bool) -> None:
    """Colors are used only where they are wanted."""
    assert color == ("\x1b[" in told(healthy(), color=color))
