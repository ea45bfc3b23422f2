"""A run over texts: progress, and files that cannot be read to their end."""

from __future__ import annotations

from datetime import date

import pytest

from policies.config.context import AdmissionContext
from policies.config.lint_config import LintConfig
from policies.lint.run import Selection
from webhook.lint import parse
from webhook.lint.files import Text
from webhook.lint.run import READING_SHARE, LintJob, build_job, lint_texts

DEPLOYMENT = b"""\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%d, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: %d
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      containers: [{name: web, image: web}]
"""
JOB = LintJob(context=AdmissionContext(policies=()), selection=Selection())


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small texts be cut."""
    monkeypatch.setattr(parse, "PIECE", 1000)


def stream(count: int) -> bytes:
    return b"".join(DEPLOYMENT % (number, number % 2) for number in range(count))


def test_progress() -> None:
    """It only grows, is half-way when all is read, and ends with the last workload."""
    shown = list[float]()
    outcome = lint_texts([Text("a.yaml", stream(20))], JOB, shown.append)

    assert 20 == outcome.result.workloads
    assert sorted(shown) == shown
    assert 1 == shown[-1]
    assert [] == [share for share in shown[-20:] if share <= READING_SHARE]
    assert READING_SHARE in shown


def test_a_file_that_breaks_off() -> None:
    """Of a file that cannot be read to its end nothing is judged, of the others everything."""
    texts = [Text("a.yaml", stream(9) + b"---\nkind: [\n"), Text("b.yaml", stream(9))]
    outcome = lint_texts(texts, JOB, lambda _share: None)

    assert 9 == outcome.result.workloads
    assert ["a.yaml"] == [problem.location.file for problem in outcome.problems]
    assert {"b.yaml"} == {finding.location.file for finding in outcome.result.findings}


@pytest.mark.parametrize(("version", "told"), [("1.36", False), ("1.99", True)])
def test_a_release_that_is_newer_than_known(version: str, *, told: bool) -> None:
    """It is said that another release stands for it."""
    warnings: list[str] = []
    build_job(LintConfig(kubernetes_version=version), today=date(2026, 1, 1), warn=warnings.append)

    assert told == any("1.99 is newer than any release that is known" in line for line in warnings)
