"""The JSON Schemas of the documents, generated from their types.

Property names are the attributes' in camelCase, descriptions are the ``#:`` comments at them, defaults are
their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Final

import orjson

from policies.config.form import document_schema
from policies.config.instance_types import InstanceTypes
from policies.config.lint_config import LintConfig
from policies.config.node_groups import NodeGroups
from policies.config.own_kinds import OwnKind
from policies.config.policy_document import SpreadPolicyDocument
from policies.config.type_schema import DIALECT, Schema

#: The checked-in schema of a SpreadPolicy, in this package.
SCHEMA_FILE = "spreadpolicy.schema.json"
#: The kind of each document, and the file with its schema.
_DOCUMENTS: Final[Mapping[type, tuple[OwnKind, str]]] = {
    SpreadPolicyDocument: (OwnKind.SPREAD_POLICY, SCHEMA_FILE),
    LintConfig: (OwnKind.LINT_CONFIG, "lintconfig.schema.json"),
    NodeGroups: (OwnKind.NODE_GROUPS, "nodegroups.schema.json"),
    InstanceTypes: (OwnKind.INSTANCE_TYPES, "instancetypes.schema.json"),
}


def published_schema(form: type) -> Schema:
    """Return the schema of a document as it is published.

    Args:
        form: Its type: SpreadPolicyDocument, LintConfig, NodeGroups or InstanceTypes.
    """
    kind, file = _DOCUMENTS[form]
    head = {"$schema": DIALECT, "$id": f"https://evenkeel.dev/schemas/v1alpha1/{file}", "title": kind}
    return head | document_schema(form, kind)


def schema_texts() -> dict[str, str]:
    """Return each schema as the checked-in file of its name has it."""
    return {file: schema_text(published_schema(form)) for form, (_, file) in _DOCUMENTS.items()}


def schema_text(schema: Schema) -> str:
    """Return a schema as a checked-in file has it."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def checked_in_text(file: str = SCHEMA_FILE) -> str:
    """Return a checked-in schema."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
