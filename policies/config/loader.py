"""From the text of SpreadPolicy documents to policies, with every problem of every file reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from policies.config.spread_policy import BUILTIN_PREFIX, SpreadPolicy, SpreadPolicyDocument
from policies.manifests.documents import ManifestObject, load_strictly, objects_or_itself
from policies.manifests.errors import DocumentError
from policies.manifests.fields import NAME, FieldError, duplicate_value
from policies.manifests.file_name import shown_file
from policies.manifests.wire import from_json

#: The rule that a second policy of one name breaks.
NAME_REPEATED = "policy-name-repeated"
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
            documents = load_strictly(_content(name, read), shown_file(name))
        except DocumentError as error:
            problems += (with_builtin_names(name, problem) for problem in error.problems)
            continue
        found = [manifest for document in documents for manifest in objects_or_itself(document)]
        if not found:
            problems.append(f"{shown_file(name)}: holds no document")
        for manifest in found:
            # The built-in documents have no errors, and most runs have no others.
            own = [] if name.startswith(BUILTIN_PREFIX) else _errors(manifest)
            errors = own or repeated_name_errors(manifest, first_places)
            problems += manifest.problems(errors)
            if not errors:
                policies.append(build(manifest.value))
    if problems:
        raise DocumentError(problems)
    return tuple(policies)


def _errors(manifest: ManifestObject) -> list[FieldError]:
    # Only a program with policies of its own pays for their checks.
    from policies.config.policy_validation import policy_errors  # noqa: PLC0415

    return policy_errors(manifest.value)


def repeated_name_errors(document: ManifestObject, first_places: dict[str, str]) -> list[FieldError]:
    """Return the error of a policy whose name came before; remembers where each name was first."""
    name = document.value["metadata"]["name"]
    if name in first_places:
        detail = f"also the name of the policy at {first_places[name]}"
        return [duplicate_value(NAME, name, NAME_REPEATED, detail=detail)]
    first_places[name] = str(document.location(NAME))
    return []


def build(value: Mapping[str, Any]) -> SpreadPolicy:
    """Build a policy from a document without errors (``policy_validation.policy_errors``)."""
    document = from_json(SpreadPolicyDocument, value)
    return replace(document.spec, name=document.metadata.name)


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
