"""The field of a request that lets an autoscaler add nodes for pending pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final, Literal, TypeAlias

from policies.autoscaler.deduced_groups import NONE_DEDUCED, deduce
from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.autoscaler.sources import NO_GROUP, AutoscalerReader
from policies.config.node_groups import MOST_GROUPS
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    invalid_value,
    required_value,
)
from policies.manifests.wire import Keywords
from policies.scheduler.index import ClusterIndex
from webhook.requests.frame import ApiObject, objects_of

#: What adds nodes: the documents that the file of ``--autoscale`` has, or what the nodes of the cluster show.
AutoscaleField: TypeAlias = Literal["deduced"] | Annotated[list[ApiObject], Keywords(maxItems=MOST_GROUPS)]
#: Where the field is.
AUTOSCALE: Final = FieldPath(("autoscale",))


def autoscaler_of(
    field: AutoscaleField | None, known: ClusterIndex | None, found: ErrorList
) -> NodeAutoscaler | None:
    """Return the autoscaler; None without the field, or where it has an error.

    Args:
        field: The field.
        known: The cluster of the request; None if it has none.
        found: Takes what is wrong.
    """
    if field is None:
        return None
    cluster = ClusterIndex() if known is None else known
    if isinstance(field, str):
        groups = deduce(cluster)
        if not groups.groups:
            found.add(invalid_value(AUTOSCALE, field, NONE_DEDUCED, VALUE_INVALID))
        return groups
    reader, taken = AutoscalerReader(cluster), list[list[FieldError]]()
    for path, document in objects_of(field, AUTOSCALE, found):
        taken.append([replace(error, path=path + error.path) for error in reader.take(document)])
        found.extend(taken[-1])
    if any(taken):
        return None
    try:
        autoscaler = reader.autoscaler()
    except DocumentError as error:
        found.add(required_value(AUTOSCALE, " ".join(error.problems), FIELD_MISSING))
        return None
    if autoscaler is None and len(taken) == len(field):
        found.add(required_value(AUTOSCALE, NO_GROUP, FIELD_MISSING))
    return autoscaler
