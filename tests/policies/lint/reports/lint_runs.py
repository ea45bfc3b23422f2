"""Runs of the linter for the tests of reports: one that has everything, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from policies.lint.exemptions import Suppressed
from policies.lint.reports.run import LintRun
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath, Key
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped, SkipReason, SourceKind
from policies.rules.base import AtAdmission, Context, Problem, Rule, RuleTarget

MANUAL = """\
A constraint that is odd.

## What it finds
An *odd* constraint.

## Why it matters
Odd | even.

## Fails
```yaml
kind: Pod
```

## Passes
```yaml
kind: Pod
```

## How to fix
Make it even, e.g.
with `maxSkew: 2`. Or delete it.
"""


def _nothing(_target: object, _context: Context) -> Iterator[Problem]:
    return iter(())


def a_rule(rule_id: str = "odd-skew", severity: Severity = Severity.WARNING) -> Rule:
    """Return a rule that finds nothing."""
    return Rule(
        id=rule_id,
        severity=severity,
        summary=MANUAL.partition("\n")[0],
        manual=MANUAL,
        see="https://example.com/pain",
        target=RuleTarget.WORKLOAD,
        at_admission=AtAdmission.WARN,
        is_api_rule=False,
        needs_profile=False,
        needs_inventory=False,
        opt_in=False,
        decidable=False,
        fixable=True,
        params=None,
        check=_nothing,
    )


WEB = """\
apiVersion: v1
kind: Pod
spec:
  topologySpreadConstraints:
    - maxSkew: 1
      labelSelector: {matchLabels: {app.kubernetes.io/name: web}}
\t  minDomains: 3
"""
_CONSTRAINT = FieldPath(("spec", "topologySpreadConstraints", 0))


def _finding(severity: Severity, line: int, path: FieldPath, message: str, **more: str | bool) -> Finding:
    rest = {"rule": "odd-skew", "title": "Pod web"} | more
    return Finding(severity, Location("deploy/web.yaml", line), path, message, **rest)  # type: ignore[arg-type]  # texts and flags by name


_ODD = _finding(Severity.WARNING, 5, _CONSTRAINT.child("maxSkew"), "is 1, which is odd", fixable=True)
_LABEL = FieldPath((*_CONSTRAINT.segments, "labelSelector", "matchLabels", Key("app.kubernetes.io/name")))
_RESULT = LintResult(
    findings=[
        Finding(Severity.ERROR, Location("b.yaml"), FieldPath(), "is no text: byte 0xff", "unreadable"),
        _finding(Severity.NOTE, 6, _LABEL, 'is "web" | "api", 100% of 2', rule="even-label"),
        _ODD,
        _finding(
            Severity.ERROR, 7, _CONSTRAINT.child("minDomains"), "is 3, above the 2 domains zone-a, zone-b"
        ),
    ],
    suppressed=[
        Suppressed(_finding(Severity.ERROR, 4, _CONSTRAINT, "is alone", rule="even-label"), "until May")
    ],
    skipped={"single-domain": "needs nodes", "no-node": "needs nodes", "old": "is off before 1.27"},
    workloads=3,
)
_DEPENDENCIES = "the chart's dependencies would have to be downloaded"
_SKIPPED = (
    Skipped(
        location=Location("charts/shop/Chart.yaml"),
        kind=SourceKind.CHART,
        reason=SkipReason.TOOL_FAILED,
        message="helm template: execution error at (shop/web.yaml:3:4): a tag, 100% | is required",
        named=True,
    ),
    Skipped(
        location=Location("charts/b/Chart.yaml"),
        kind=SourceKind.CHART,
        reason=SkipReason.DOWNLOAD_NEEDED,
        message=_DEPENDENCIES,
        needs=("common 2.x.x from oci://example.com/charts", "redis 1.0.0 from https://example.com"),
    ),
    Skipped(
        location=Location("charts/a/Chart.yaml"),
        kind=SourceKind.CHART,
        reason=SkipReason.DOWNLOAD_NEEDED,
        message=_DEPENDENCIES,
        needs=("common 2.x.x from oci://example.com/charts",),
    ),
    Skipped(
        location=Location("apps/web.yaml", 4),
        kind=SourceKind.HELM_RELEASE,
        reason=SkipReason.DOWNLOAD_NEEDED,
        message="its chart would have to be downloaded",
        needs=("web 1.2.3 from HelmRepository shop",),
        title="HelmRelease web",
    ),
    Skipped(
        location=Location("secrets.yaml"),
        kind=SourceKind.FILE,
        reason=SkipReason.ENCRYPTED,
        message="is encrypted with SOPS",
    ),
    Skipped(
        location=Location("b.yaml", 7),
        kind=SourceKind.OBJECT,
        reason=SkipReason.LIMIT_EXCEEDED,
        message="256 or more errors of odd-skew: others are not listed",
        title="Deployment b",
    ),
)
#: A run with everything that a report may tell.
RUN = LintRun(
    result=_RESULT,
    tool_version="1.2.3",
    files=("deploy/web.yaml", "b.yaml", "clean.yaml"),
    skipped_sources=_SKIPPED,
    known=2,
    rules={"odd-skew": a_rule(), "even-label": a_rule("even-label", Severity.NOTE)},
    source=lambda file: WEB.split("\n") if file == "deploy/web.yaml" else (),
)
#: A run that found nothing.
CLEAN = LintRun(result=LintResult(), tool_version="1.2.3", files=("a.yaml",), rules={})

#: Texts that formats tend to break on.
_NASTY = st.sampled_from(
    [
        "a\nb", "\r\n::error::x", "\x1b[31mred\x1b[0m", "]]>", "<b>&amp;", "a|b\\|c\\", "100%0A", "::set::",
        " ::stop-commands::x", "\x00\x07\x85\u2028", "\udcff", "\ufffe", "`code``", "@someone", "x" * 5000,
        "a,b:c=d", "/etc/x", "../x", "./x", "漢字", "\u202eevil", "", " ", "-->",
    ]
)  # fmt: skip
TEXTS = _NASTY | st.text(max_size=20)
_FINDINGS = st.builds(
    Finding,
    severity=st.sampled_from(Severity),
    location=st.builds(Location, file=TEXTS, line=st.integers(0, 3)),
    path=st.builds(
        FieldPath, st.lists(TEXTS | st.integers(0, 3) | st.builds(Key, TEXTS), max_size=3).map(tuple)
    ),
    message=TEXTS,
    rule=st.just("odd-skew") | TEXTS,
    title=TEXTS,
    fixable=st.booleans(),
)
_HOSTILE_SKIPPED = st.builds(
    Skipped,
    location=st.builds(Location, file=TEXTS, line=st.integers(0, 3)),
    kind=st.sampled_from(SourceKind),
    reason=st.sampled_from(SkipReason),
    message=TEXTS,
    needs=st.lists(TEXTS, max_size=2).map(tuple),
    title=TEXTS,
    named=st.booleans(),
)
#: Runs of hostile texts.
HOSTILE_RUNS = st.builds(
    LintRun,
    result=st.builds(
        LintResult,
        findings=st.lists(_FINDINGS, max_size=3),
        suppressed=st.lists(st.builds(Suppressed, _FINDINGS, TEXTS), max_size=2),
        skipped=st.dictionaries(st.just("odd-skew"), TEXTS),
    ),
    tool_version=st.just("1.2.3"),
    files=st.lists(TEXTS, max_size=2).map(tuple),
    skipped_sources=st.lists(_HOSTILE_SKIPPED, max_size=3).map(tuple),
    fail_on=st.none() | st.sampled_from(Severity),
    fail_on_skipped=st.sampled_from(FailOnSkipped),
    rules=st.just({"odd-skew": a_rule()}),
    source=st.lists(TEXTS, min_size=3, max_size=3).map(lambda lines: lambda _file: lines),
)
