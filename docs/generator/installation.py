"""The reference of an installation: metrics, alerts and the chart's values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry

from docs.generator.markdown import code, page, table
from tests.deploy.manifests import render
from webhook.telemetry.metrics import Telemetry
from webhook.telemetry.skew_metrics import ExportedSkew, SkewReport, skew_families

VALUES = Path(__file__).parents[2] / "deploy/helm/evenkeel/values.yaml"

_METRICS = """\
`GET /metrics` has these, summed over the worker processes of a replica. Names that clients choose, such as
namespaces, are labels of `evenkeel_workload_…` alone, which `--skew-metrics` turns on and limits; one replica
exports them and `evenkeel_skew_…`. [Operating](../operate.md) says which metrics to watch."""
_ALERTS = """\
The chart makes these alerts with `monitoring.prometheusRule.enabled=true` (Prometheus Operator). Where
cert-manager manages the certificates, those about the leader and the caBundle are left out. Those about the
skew of workloads, and the recording rules that they use, need `skew.metrics`."""
_VALUES = """\
Values of the chart `deploy/helm/evenkeel`. Helm checks yours against `values.schema.json`."""


def metric_families() -> list[Any]:
    """Return every metric that a replica can have, with its type, labels and help text."""
    registry = CollectorRegistry()
    telemetry = Telemetry("1", registry=registry)
    telemetry.cluster.update([], age_s=0, stale=False)
    telemetry.policies.update({"file": (0, 0)})
    telemetry.certificates.update(
        authority_expires_at=0, current=True, leading=True, skew_s=0, registered={"mutate": True}
    )
    skew = skew_families(SkewReport(0, 0, ()), ExportedSkew.of((), 0))
    return sorted([*registry.collect(), *skew], key=lambda family: family.name)


def page_of_metrics() -> str:
    """Return the table of every metric."""
    rows = (
        (
            code(f"{family.name}_total" if family.type == "counter" else family.name),
            family.type,
            family.documentation,
        )
        for family in metric_families()
    )
    return page("Metrics", _METRICS, table(("metric", "type", "meaning"), rows))


def alerts() -> list[dict[str, Any]]:
    """Return every alert of the chart."""
    return [rule for rule in rules() if "alert" in rule]


def rules() -> list[dict[str, Any]]:
    """Return every alert and recording rule of the chart."""
    values = {"monitoring": {"prometheusRule": {"enabled": True}}, "skew": {"metrics": 1}}
    (group,) = render(values=values)["PrometheusRule", "evenkeel"]["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def page_of_alerts() -> str:
    """Return a section for each alert."""
    parts = [part for alert in alerts() for part in _alert(alert)]
    recorded = [part for rule in rules() if "record" in rule for part in _recorded(rule)]
    return page("Alerts", _ALERTS, *parts, "## Recording rules", *recorded)


def _recorded(rule: dict[str, Any]) -> Iterator[str]:
    yield f"`{rule['record']}`:"
    yield f"```promql\n{rule['expr'].strip()}\n```"


def _alert(alert: dict[str, Any]) -> Iterator[str]:
    notes = {name: _plain(text) for name, text in alert["annotations"].items()}
    yield f"## {alert['alert']}"
    yield f"**{notes['summary']}** {notes['description']}"
    yield f"Severity {alert['labels']['severity']}, after {alert.get('for', '0m')}:"
    yield f"```promql\n{alert['expr'].strip()}\n```"


def _plain(text: str) -> str:
    """Return a text with placeholders in place of Prometheus' templates.

    >>> _plain("{{ $labels.pod }} ends in {{ $value | humanizeDuration }}.")
    'POD ends in VALUE.'
    """
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: found[1].upper(), text)
    return re.sub(r"\{\{ \$value [^}]*\}\}", "VALUE", text)


def page_of_values() -> str:
    """Return the table of every value of the chart."""
    rows = ((code(name), code(default), text) for name, default, text in values())
    return page("Values of the Helm chart", _VALUES, table(("value", "default", "meaning"), rows))


def values() -> Iterator[tuple[str, str, str]]:
    """Yield path, default and description of each value that is described by a ``# --`` comment."""
    text = VALUES.read_text("utf-8")
    defaults = yaml.safe_load(text)
    path: list[tuple[int, str]] = []
    described: list[str] = []
    for line in text.splitlines():
        if found := re.fullmatch(r" *# (?:-- )?(.*)", line):
            described = [found[1]] if "# -- " in line else described and [*described, found[1]]
        elif found := re.match(r"( *)([A-Za-z]+):", line):
            path = [*(entry for entry in path if entry[0] < len(found[1])), (len(found[1]), found[2])]
            names = [name for _, name in path]
            if described:
                yield ".".join(names), _default(defaults, names), " ".join(described)
            described = []


def _default(defaults: Any, names: list[str]) -> str:
    for name in names:
        defaults = defaults[name]
    return yaml.safe_dump(defaults, default_flow_style=True, width=1000).removesuffix("...\n").strip()
