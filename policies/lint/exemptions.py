"""Exemptions of an object from findings: by its annotation, or an exception of a policy, as at admission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from policies.config.enforcement import (
    IGNORE_ANNOTATION,
    Exempting,
    ExemptionSource,
    rule_settings,
)
from policies.config.spread_policy import SpreadPolicy
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding
from policies.manifests.origins import at_origin
from policies.rules.base import all_rules

#: The rule that an exemption breaks which exempts from nothing.
EXEMPTION_WITHOUT_EFFECT: Final = "exemption-without-effect"


class SuppressedBy(StrEnum):
    """What takes a finding out of force; the value says it after the number of findings."""

    ANNOTATION = "exempted by evenkeel.dev/ignore"
    POLICY = "exempted by exceptions of policies"
    NODE_GROUPS = "of rules of thumb withdrawn, as the nodes that come decide otherwise"


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that is out of force, why, and what takes it out."""

    finding: Finding
    reason: str
    by: SuppressedBy = SuppressedBy.ANNOTATION


class AnnotatedObject(NamedTuple):
    """An object, and the way to where its annotation of exemptions is."""

    manifest: ManifestObject
    way: FieldPath
    title: str


def in_force(
    found: Iterable[Finding], exempting: Exempting, annotated: AnnotatedObject
) -> tuple[list[Finding], list[Suppressed]]:
    """Return the findings that no exemption covers, with what is wrong with exemptions, and the others."""
    findings, suppressed = [], []
    problems = dict.fromkeys(exempting.annotated.problems)
    for finding in found:
        enforcement = exempting.enforcement(finding.rule, finding.severity)
        exemption = exempting.find(finding.rule, enforcement)
        if exemption is not None:
            of_policy = exemption.source is ExemptionSource.POLICY
            by = SuppressedBy.POLICY if of_policy else SuppressedBy.ANNOTATION
            suppressed.append(Suppressed(finding, exemption.reason, by))
            continue
        findings.append(finding)
        if why := exempting.without_effect(finding.rule, enforcement):
            problems[why] = None
    return [*findings, *_exemption_findings(annotated, problems, exempting.policies)], suppressed


def _exemption_findings(
    annotated: AnnotatedObject, problems: Iterable[str], policies: Iterable[SpreadPolicy]
) -> Iterator[Finding]:
    """Yield a finding for each problem of an object's exemptions: each leaves a rule in force."""
    path = annotated.way.child("metadata", "annotations").key(IGNORE_ANNOTATION)
    settings = rule_settings(policies, EXEMPTION_WITHOUT_EFFECT)
    for problem in problems:
        finding = Finding(
            settings.severity or all_rules()[EXEMPTION_WITHOUT_EFFECT].severity,
            annotated.manifest.location(path),
            path,
            problem.removeprefix(f"{IGNORE_ANNOTATION}: "),
            EXEMPTION_WITHOUT_EFFECT,
            title=annotated.title,
        )
        yield at_origin(finding, annotated.manifest)
