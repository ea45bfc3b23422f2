"""Runs of one rule on one pod, by a policy or none."""

from __future__ import annotations

from datetime import date
from typing import Any

from policies.config.context import AdmissionContext
from policies.config.loader import build
from policies.lint.run import LintResult, Selection, lint
from policies.manifests.documents import load, objects
from tests.builders import a_policy

RULE = "max-skew-not-positive"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop%s}
spec:
  topologySpreadConstraints: [{maxSkew: 0, topologyKey: a/b, whenUnsatisfiable: DoNotSchedule}]
"""


def linted(text: str, **spec: Any) -> LintResult:
    """Lint a text on the last day of January 2027."""
    policies = (build(a_policy(**spec)),) if spec else ()
    manifests = [entry for document in load(text, "a.yaml") for entry in objects(document)]
    context = AdmissionContext(policies=policies)
    return lint(manifests, context, selection=Selection(select=frozenset({RULE})), today=date(2027, 1, 31))
