"""Inspect documents of any kind that Evenkeel reads, and report instead of raising."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from policies.config import instance_types, node_groups, spread_policy
from policies.config.instance_types_loader import instance_types_errors
from policies.config.loader import build, repeated_name_errors
from policies.config.node_groups_loader import node_groups_errors
from policies.config.policy_advice import PolicyEnvironment, config_advice, policy_advice
from policies.config.policy_validation import policy_errors
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import FieldError
from policies.manifests.findings import Finding, Severity
from policies.scheduler import configuration
from policies.scheduler.configuration import SchedulerConfig

#: The kinds of documents that are inspected here.
KINDS: Final = (spread_policy.KIND, configuration.KIND, node_groups.KIND, instance_types.KIND)
#: The kinds that describe nodes which an autoscaler may add, with what finds their errors.
_DESCRIBED: Final[Mapping[str, Callable[[object], list[FieldError]]]] = {
    node_groups.KIND: node_groups_errors,
    instance_types.KIND: instance_types_errors,
}


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
        described = _DESCRIBED.get(document.value["kind"])
        if described is not None:
            found += _errors(document, described(document.value))
        else:
            (configs if document.value["kind"] == configuration.KIND else policies).append(document)
    for document in configs:
        errors = configuration.config_errors(document.value)
        found += _errors(document, errors)
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
        yield from _errors(document, errors)


def _errors(document: ManifestObject, errors: Iterable[FieldError]) -> Iterator[Finding]:
    for error in errors:
        location = document.location(error.path)
        yield Finding(Severity.ERROR, location, document.path + error.path, error.problem, error.rule)
