"""Forecasts that what the cluster stores makes too dear are named for who runs the server."""

from __future__ import annotations

import logging

import pytest

from policies.admission.decision import AdmissionVerdict, SkipCause
from tests.webhook.telemetry.test_metrics import a_reply
from webhook.component import Confidential
from webhook.http.state import DearForecasts


@pytest.mark.parametrize("cause", [SkipCause.OBJECT, SkipCause.TIMEOUT])
def test_what_the_cluster_has_no_part_in(cause: SkipCause) -> None:
    """The author of the object is told; nobody else could do anything about it."""
    forecasts = DearForecasts()
    forecasts.note(a_reply(AdmissionVerdict.WARNED, skipped=("unschedulable",), cause=cause))
    forecasts.note(a_reply(AdmissionVerdict.WARNED, forecast_s=0.1))
    forecasts.note(a_reply(AdmissionVerdict.ALLOWED, skipped=("no-spread",), cause=SkipCause.CLUSTER))

    assert [] == forecasts.warnings()


def test_the_last_one_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """With the object and the reason, for ten minutes; the log has one a minute."""
    now = [0.0]
    forecasts = DearForecasts(lambda: now[0])
    dear = a_reply(AdmissionVerdict.WARNED, skipped=("unschedulable",), cause=SkipCause.CLUSTER)
    with caplog.at_level(logging.WARNING):
        for now[0] in (0.0, 30.0, 61.0):
            forecasts.note(dear)
    shown = forecasts.warnings()
    now[0] = 71.0
    forecasts.note(a_reply(AdmissionVerdict.WARNED, forecast_s=3.774))
    slow = forecasts.warnings()
    now[0] = 71.0 + 600.0

    assert ["the next pod of Pod shop/web is not evaluated: too large (0 s ago)"] == shown
    assert ["the next pod of Pod shop/web took 3.8 s to evaluate (0 s ago)"] == slow
    # They name what others have: not for whoever can reach the port.
    assert all(isinstance(text, Confidential) for text in (*shown, *slow))
    assert 2 == sum(record.msg == "forecast_too_dear" for record in caplog.records)
    assert [] == forecasts.warnings()
