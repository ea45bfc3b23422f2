"""Inspect SpreadPolicies and the configuration of the scheduler, and report instead of raising."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policies.config import spread_policy
from policies.config.loader import build, repeated_name_errors
from policies.config.policy_advice import PolicyEnvironment, config_advice, policy_advice
from policies.config.policy_validation import policy_errors
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import FieldError
from policies.manifests.findings import Finding, Severity
from policies.scheduler import configuration
from policies.scheduler.configuration import SchedulerConfig

#: The kinds of documents that are inspected here.
KINDS: Final = (spread_policy.KIND, configuration.KIND)


def is_known(document: ManifestObject) -> bool:
    """Return whether a document is of a kind that is inspected here."""
    value: object = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind in KINDS


def inspect(
    documents: Iterable[ManifestObject],
    *,
    scheduler: SchedulerConfig | None = None,
    has_cluster: bool = False,
) -> list[Finding]:
    """Return all advice on documents, each of which ``is_known``.

    Args:
        documents: What to inspect.
        scheduler: kube-scheduler's configuration; without it, the one among the documents counts.
        has_cluster: Whether a cluster will be connected.
    """
    policies: list[ManifestObject] = []
    configs: list[ManifestObject] = []
    found: list[Finding] = []
    for document in documents:
        (configs if document.value["kind"] == configuration.KIND else policies).append(document)
    for document in configs:
        errors = configuration.config_errors(document.value)
        found += errors_found(document, errors)
        if not errors:
            config = configuration.build(document.value)
            found += config_advice(document, config)
            scheduler = scheduler or config
    around = PolicyEnvironment(scheduler=scheduler, has_cluster=has_cluster)
    return [*found, *_inspect_policies(policies, around)]


def _inspect_policies(documents: Iterable[ManifestObject], around: PolicyEnvironment) -> Iterator[Finding]:
    first_places: dict[str, str] = {}
    for document in documents:
        errors = policy_errors(document.value)
        if not errors:
            yield from policy_advice(document, build(document.value), around)
            errors = repeated_name_errors(document, first_places)
        yield from errors_found(document, errors)


def errors_found(document: ManifestObject, errors: Iterable[FieldError]) -> Iterator[Finding]:
    """Yield the errors of a document as findings, each with its place."""
    for error in errors:
        location = document.location(error.path)
        yield Finding(Severity.ERROR, location, document.path + error.path, error.problem, error.rule)
