"""From the text of SpreadPolicy documents to policies, with every problem of every file told at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from importlib import resources
from typing import Any

from policies.config.policy_exception import PolicyException
from policies.config.policy_validation import policy_errors, repeated_name_errors
from policies.config.scope import Scope
from policies.config.spread_policy import (
    AnnotationExemptions,
    Defaults,
    DefaultsSource,
    Enforcement,
    InjectAt,
    RuleSettings,
    SpreadPolicy,
    Topology,
)
from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError
from policies.manifests.findings import Severity
from policies.model.constraint import Constraint
from policies.model.labels import LabelSelector
from policies.rules.base import RENAMED

#: What a name starts with that means a built-in document.
BUILTIN_PREFIX = "builtin:"
#: A name that is no path.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def load_policies(names: Iterable[str], read: Callable[[str], bytes]) -> tuple[SpreadPolicy, ...]:
    """Load policies from files and from the built-in documents.

    Args:
        names: File names, or ``builtin:NAME``.
        read: Returns the content of a file; ``DocumentError`` of it is collected with the others.

    Raises:
        DocumentError: Any file cannot be used; holds every problem of all of them.
    """
    policies: list[SpreadPolicy] = []
    problems: list[str] = []
    first_places: dict[str, str] = {}
    for name in names:
        try:
            documents = load_strictly(_content(name, read), name)
        except DocumentError as error:
            problems += (with_builtin_names(name, problem) for problem in error.problems)
            continue
        if not documents:
            problems.append(f"{name}: holds no document")
        for document in documents:
            errors = policy_errors(document.value) or repeated_name_errors(document, first_places)
            problems += document.problems(errors)
            if not errors:
                policies.append(build(document.value))
    if problems:
        raise DocumentError(problems)
    return tuple(policies)


def build(value: Mapping[str, Any]) -> SpreadPolicy:
    """Build a policy from a document without errors (``checking.policy_errors``)."""
    spec = value.get("spec", {})
    return SpreadPolicy(
        name=value["metadata"]["name"],
        scope=_scope(spec.get("scope", {})),
        enforcement=Enforcement(spec.get("enforcement", Enforcement.DENY)),
        annotation_exemptions=AnnotationExemptions(
            spec.get("annotationExemptions", AnnotationExemptions.DENIED)
        ),
        exceptions=tuple(map(_exception, spec.get("exceptions", ()))),
        defaults=_defaults(spec["defaults"]) if "defaults" in spec else None,
        rules={RENAMED.get(rule, rule): _settings(raw) for rule, raw in spec.get("rules", {}).items()},
        topology=_topology(spec.get("topology", {})),
    )


def _content(name: str, read: Callable[[str], bytes]) -> bytes:
    return builtin_bytes(name) if name.startswith(BUILTIN_PREFIX) else read(name)


def with_builtin_names(name: str, problem: str) -> str:
    """Return why a file cannot be read, with the built-in documents where one of them may have been meant."""
    if not _WORD.fullmatch(name):
        return problem
    return (
        f"{problem}; the built-in policies are {', '.join(BUILTIN_PREFIX + each for each in builtin_names())}"
    )


def builtin_names() -> list[str]:
    """Return the names of the built-in documents, sorted."""
    folder = resources.files(__package__).joinpath("builtin")
    return sorted(
        entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")
    )


def builtin_bytes(name: str) -> bytes:
    """Return the text of a built-in document.

    Args:
        name: Its name, with or without ``builtin:``.

    Raises:
        DocumentError: There is none of that name.
    """
    plain = name.removeprefix(BUILTIN_PREFIX)
    if plain not in builtin_names():
        raise DocumentError([f"{name}: no built-in policy; there are {', '.join(builtin_names())}"])
    return resources.files(__package__).joinpath("builtin", f"{plain}.yaml").read_bytes()


def _scope(raw: Mapping[str, Any]) -> Scope:
    return Scope(
        exclude_namespaces=tuple(raw.get("excludeNamespaces", ())),
        namespaces=tuple(raw.get("namespaces", ())),
        namespace_selector=_selector(raw.get("namespaceSelector")),
        object_selector=_selector(raw.get("objectSelector")),
        kinds=tuple(raw.get("kinds", ())),
    )


def _selector(raw: Mapping[str, Any] | None) -> LabelSelector | None:
    return None if raw is None else LabelSelector.parse(raw)


def _defaults(raw: Mapping[str, Any]) -> Defaults:
    return Defaults(
        at=InjectAt(raw.get("at", InjectAt.PODS)),
        source=DefaultsSource(raw.get("source", DefaultsSource.POLICY)),
        constraints=tuple(map(Constraint.parse, raw.get("constraints", ()))),
    )


def _settings(raw: Mapping[str, Any]) -> RuleSettings:
    severity, enforcement = raw.get("severity"), raw.get("enforcement")
    exemptions = raw.get("annotationExemptions")
    return RuleSettings(
        severity=None if severity is None else Severity(severity),
        enforcement=None if enforcement is None else Enforcement(enforcement),
        annotation_exemptions=None if exemptions is None else AnnotationExemptions(exemptions),
        params=raw.get("params", {}),
    )


def _exception(raw: Mapping[str, Any]) -> PolicyException:
    until = raw.get("until")
    return PolicyException(
        rules=tuple(RENAMED.get(rule, rule) for rule in raw["rules"]),
        namespaces=tuple(raw.get("namespaces", ())),
        kinds=tuple(raw.get("kinds", ())),
        names=tuple(raw.get("names", ())),
        reason=raw["reason"],
        until=None if until is None else date.fromisoformat(until),
    )


def _topology(raw: Mapping[str, Any]) -> Topology:
    return Topology(domains={key: tuple(values) for key, values in raw.get("domains", {}).items()})
