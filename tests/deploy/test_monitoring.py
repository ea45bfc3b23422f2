"""Alerts and dashboard ask for metrics that there are."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.deploy.manifests import Manifests, render
from webhook.telemetry.metrics import Telemetry

#: Metrics that the API server and kube-state-metrics tell.
OF_OTHERS = {
    "apiserver_admission_webhook_fail_open_count",
    "kube_deployment_spec_replicas",
    "kube_deployment_status_replicas_ready",
    "kube_mutatingwebhookconfiguration_info",
    "kube_validatingwebhookconfiguration_info",
}
ON = {
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "alertLabels": {"team": "platform"}},
        "dashboard": {"enabled": True},
    }
}


@cache
def _monitored() -> Manifests:
    return render(values=ON)


@cache
def _told() -> frozenset[str]:
    """Return the names that a scrape may have."""
    registry = CollectorRegistry()
    telemetry = Telemetry("1", registry=registry)
    telemetry.cluster_followed([], age_s=0, stale=False)
    telemetry.certificates_kept(
        authority_expires_at=0, current=True, leading=True, skew_s=0, registered={"mutate": True}
    )
    names = set()
    for family in registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
    return frozenset(names)


def _rules() -> list[dict[str, Any]]:
    (group,) = _monitored()["PrometheusRule", "evenkeel"]["spec"]["groups"]
    rules = group["rules"]
    assert isinstance(rules, list)
    return rules


def _panels() -> list[dict[str, Any]]:
    dashboard = json.loads(_monitored()["ConfigMap", "evenkeel-dashboard"]["data"]["evenkeel.json"])
    panels = dashboard["panels"]
    assert isinstance(panels, list)
    return panels


def _unknown(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:evenkeel|apiserver|kube)_[a-z_]+", expression)) - _told() - OF_OTHERS


def test_alerts_ask_for_what_is_told() -> None:
    """An alert on a name that nobody tells would never come."""
    assert {} == {rule["alert"]: unknown for rule in _rules() if (unknown := _unknown(rule["expr"]))}


def test_panels_ask_for_what_is_told() -> None:
    """A panel on a name that nobody tells would stay empty."""
    expressions = [target["expr"] for panel in _panels() for target in panel["targets"]]

    assert set() == set().union(*map(_unknown, expressions))


def test_every_metric_is_on_the_dashboard() -> None:
    """Whatever the server tells, somebody can see."""
    text = json.dumps(_panels())
    families = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in _told()}

    assert set() == {name for name in families if name not in text}


def test_an_alert_says_what_and_what_to_do() -> None:
    """Whoever is woken by it reads two sentences; the labels of the values are there too."""
    for rule in _rules():
        assert {"summary", "description"} == set(rule["annotations"])
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert "platform" == rule["labels"]["team"]


def test_panels_do_not_overlap() -> None:
    """Each has its place on the grid of 24 columns."""
    taken = [
        (x, y)
        for panel in _panels()
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(taken) == len(set(taken))
    assert 24 > max(x for x, _ in taken)


def test_prometheus_shows_a_token_and_checks_the_certificate() -> None:
    """The token is that of an account whose role opens /metrics alone."""
    (endpoint,) = _monitored()["ServiceMonitor", "evenkeel"]["spec"]["endpoints"]
    token = _monitored()["Secret", endpoint["authorization"]["credentials"]["name"]]
    account = token["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    binding = _monitored()["ClusterRoleBinding", "evenkeel-metrics"]

    assert ("https", "evenkeel.evenkeel.svc") == (endpoint["scheme"], endpoint["tlsConfig"]["serverName"])
    assert "evenkeel-tls" == endpoint["tlsConfig"]["ca"]["secret"]["name"]
    assert [account] == [subject["name"] for subject in binding["subjects"]]


@pytest.mark.parametrize("source", ["secret", "certManager"])
def test_whoever_keeps_certificates_a_missing_registration_is_told(source: str) -> None:
    """Nobody would notice by what replicas do: nobody asks them."""
    manifests = render(values=ON | {"certificates": {"source": source}})
    (group,) = manifests["PrometheusRule", "evenkeel"]["spec"]["groups"]
    (rule,) = [rule for rule in group["rules"] if rule["alert"] == "EvenkeelNotRegistered"]

    assert (source == "secret") == ("evenkeel_webhook_registered" in rule["expr"])
    assert "critical" == rule["labels"]["severity"]


@pytest.mark.parametrize("alert", ["EvenkeelWithoutLeader", "EvenkeelCABundleWrong", "EvenkeelClockDiffers"])
def test_with_cert_manager_nobody_leads(alert: str) -> None:
    """What Evenkeel does not keep, it does not tell of."""
    manifests = render(values=ON | {"certificates": {"source": "certManager"}})
    (group,) = manifests["PrometheusRule", "evenkeel"]["spec"]["groups"]

    assert alert in [rule["alert"] for rule in _rules()]
    assert alert not in [rule["alert"] for rule in group["rules"]]
