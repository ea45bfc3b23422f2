"""The kinds of Evenkeel's own API group: an object of that group and of another kind is a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from policies.config import lint_config, spread_policy
from policies.manifests.fields import FieldError, FieldPath, unsupported_value


class OwnKind(StrEnum):
    """The kinds that a document of the group can have."""

    SPREAD_POLICY = spread_policy.KIND
    LINT_CONFIG = lint_config.KIND
    NODE_GROUPS = "NodeGroups"
    INSTANCE_TYPES = "InstanceTypes"


def own_kind_errors(obj: object, rule: str) -> Iterator[FieldError]:
    """Yield the errors in apiVersion and kind of an object of Evenkeel's group; none for others.

    >>> (error,) = own_kind_errors({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "Foo"}, "")
    >>> error.problem
    'Unsupported value: "Foo": supported values: "SpreadPolicy", "LintConfig", "NodeGroups", "InstanceTypes"'

    Args:
        obj: The object.
        rule: The rule that the errors break.
    """
    if not isinstance(obj, dict):
        return
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or version.partition("/")[0] != spread_policy.GROUP:
        return
    if version != spread_policy.API_VERSION:
        yield unsupported_value(FieldPath(("apiVersion",)), version, [spread_policy.API_VERSION], rule)
    if kind not in list(OwnKind):
        yield unsupported_value(FieldPath(("kind",)), kind, list(OwnKind), rule)
