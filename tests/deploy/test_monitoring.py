"""Alerts and dashboard ask for metrics that there are."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generator.installation import metric_families
from tests.deploy.manifests import Manifests, missing, render, run

#: Metrics that the API server and kube-state-metrics tell.
OF_OTHERS = {
    "apiserver_admission_webhook_fail_open_count",
    "kube_deployment_spec_replicas",
    "kube_deployment_status_replicas_ready",
    "kube_mutatingwebhookconfiguration_info",
    "kube_validatingwebhookconfiguration_info",
}
ON = {
    "skew": {"metrics": 1000},
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "alertLabels": {"team": "platform"}},
        "dashboard": {"enabled": True},
    },
}


@cache
def _monitored() -> Manifests:
    return render(values=ON)


@cache
def _told() -> frozenset[str]:
    """Return the names that a scrape may have."""
    names = set()
    for family in metric_families():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
    return frozenset(names)


def _groups() -> list[dict[str, Any]]:
    groups = _monitored()["PrometheusRule", "evenkeel"]["spec"]["groups"]
    assert isinstance(groups, list)
    return groups


def _rules(kind: str = "alert") -> list[dict[str, Any]]:
    (group,) = _groups()
    return [rule for rule in group["rules"] if kind in rule]


def _panels() -> list[dict[str, Any]]:
    dashboard = json.loads(_monitored()["ConfigMap", "evenkeel-dashboard"]["data"]["evenkeel.json"])
    panels = dashboard["panels"]
    assert isinstance(panels, list)
    return panels


def _unknown(expression: str) -> set[str]:
    """Return the names of an expression that nobody tells, or that no rule before it records."""
    asked = set(re.findall(r"[a-z_]+:[a-z_]+:[a-z]+", expression))
    expression = re.sub("|".join(map(re.escape, asked)) or "^$", "", expression)
    named = set(re.findall(r"\b(?:evenkeel|apiserver|kube)_[a-z_]+", expression))
    return (asked - {rule["record"] for rule in _rules("record")}) | (named - _told() - OF_OTHERS)


def test_alerts_ask_for_what_is_told() -> None:
    """An alert on a name that nobody tells would never come."""
    unknown = {rule["expr"]: _unknown(rule["expr"]) for rule in [*_rules(), *_rules("record")]}

    assert set() == set().union(*unknown.values()), unknown


def test_skew_has_no_rules_unless_it_is_measured() -> None:
    """An alert on series that are switched off would say that they are missing."""
    (group,) = render(values={"monitoring": ON["monitoring"]})["PrometheusRule", "evenkeel"]["spec"]["groups"]
    of_skew = [rule for rule in [*_rules(), *_rules("record")] if "skew" in rule["expr"]]

    assert 4 <= len(of_skew)
    assert not [rule for rule in group["rules"] if "evenkeel_workload" in rule["expr"]]


def test_panels_ask_for_what_is_told() -> None:
    """A panel on a name that nobody tells would stay empty."""
    expressions = [target["expr"] for panel in _panels() for target in panel["targets"]]

    assert set() == set().union(*map(_unknown, expressions))


def test_every_metric_is_on_the_dashboard() -> None:
    """Users can see every metric that the server exports."""
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
    (rule,) = [rule for rule in group["rules"] if rule.get("alert") == "EvenkeelNotRegistered"]

    assert (source == "secret") == ("evenkeel_webhook_registered" in rule["expr"])
    assert "critical" == rule["labels"]["severity"]


@pytest.mark.parametrize("alert", ["EvenkeelWithoutLeader", "EvenkeelCABundleWrong", "EvenkeelClockDiffers"])
def test_with_cert_manager_nobody_leads(alert: str) -> None:
    """Alerts about leaders, CA bundles and clocks are left out where cert-manager has the certificates."""
    manifests = render(values=ON | {"certificates": {"source": "certManager"}})
    (group,) = manifests["PrometheusRule", "evenkeel"]["spec"]["groups"]

    assert alert in [rule["alert"] for rule in _rules()]
    assert alert not in [rule.get("alert") for rule in group["rules"]]


#: The metrics of a workload from a pod of Evenkeel, as promtool's series: ``VALUExTIMES``, one a minute.
SERIES = """
evaluation_interval: 1m
rule_files: [RULES]
tests:
- interval: 1m
  input_series:
  - series: 'evenkeel_workload_skew{job="evenkeel",pod="a",LABELS}'
    values: '3x9 _x60'
  - series: 'evenkeel_workload_max_skew{job="evenkeel",pod="a",LABELS}'
    values: '1x9 _x60'
  - series: 'evenkeel_workload_skew{job="evenkeel",pod="b",LABELS}'
    values: '_x9 3x20 1x30'
  - series: 'evenkeel_workload_max_skew{job="evenkeel",pod="b",LABELS}'
    values: '_x9 1x60'
  - series: 'evenkeel_workload_pods_pending_on_spread{job="evenkeel",pod="b",WORKLOAD}'
    values: '0x20 2x30'
  - series: 'evenkeel_skew_timestamp_seconds{job="evenkeel",pod="b"}'
    values: '0x60'
  alert_rule_test:
"""
WORKLOAD = 'namespace="shop",kind="Deployment",workload="web"'
LABELS = WORKLOAD + ',topology_key="zone",when_unsatisfiable="DoNotSchedule"'
OF_WORKLOAD = {"namespace": "shop", "kind": "Deployment", "workload": "web"}
OF_CONSTRAINT = OF_WORKLOAD | {"topology_key": "zone", "when_unsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("alert", "minute", "labels", "summary"),
    [
        pytest.param("EvenkeelSkewAboveMaxSkew", 14, None, "", id="14 minutes are a rollout"),
        pytest.param(
            "EvenkeelSkewAboveMaxSkew", 16, OF_CONSTRAINT,
            "Deployment shop/web is 2 above maxSkew over zone.",
            id="16 minutes, over a change of the leader after 9",
        ),
        pytest.param("EvenkeelSkewAboveMaxSkew", 35, None, "", id="even again after 29"),
        pytest.param("EvenkeelPodsPendingOnSpread", 34, None, "", id="pending for 13 minutes"),
        pytest.param(
            "EvenkeelPodsPendingOnSpread", 37, OF_WORKLOAD,
            "2 pods of Deployment shop/web are pending on topology spread.", id="pending for 16 minutes",
        ),
        pytest.param("EvenkeelSkewStale", 39, None, "", id="not measured for 39 minutes"),
        pytest.param(
            "EvenkeelSkewStale", 42, {},
            "The skew of workloads is not measured, or its figures are older than half an hour.",
            id="not measured for 42 minutes",
        ),
    ],
)  # fmt: skip
def test_alerts_on_skew(
    alert: str, minute: int, labels: dict[str, str] | None, summary: str, tmp_path: Path
) -> None:
    """Prometheus itself says when they fire and what they say."""
    promtool = shutil.which("promtool") or missing("promtool", of_dev_extra=False)
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": _groups()}))
    series = SERIES.replace("RULES", "rules.yaml").replace("LABELS", LABELS).replace("WORKLOAD", WORKLOAD)
    case = yaml.safe_load(series)
    description = next(rule for rule in _rules() if rule["alert"] == alert)["annotations"]["description"]
    fires = [] if labels is None else [
        {
            "exp_labels": {"severity": "warning", "team": "platform"} | labels,
            "exp_annotations": {"summary": summary, "description": description},
        }
    ]  # fmt: skip
    case["tests"][0]["alert_rule_test"] = [
        {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": fires}
    ]
    (tmp_path / "test.yaml").write_text(json.dumps(case))
    done = run(promtool, "test", "rules", str(tmp_path / "test.yaml"))

    assert 0 == done.returncode, done.stdout + done.stderr
