"""Default constraints of a SpreadPolicy as a MutatingAdmissionPolicy, which injects them into workloads.

It injects what ``policies/config/default_constraints`` plans for a workload. A second pass finds constraints
and adds none. If it fails, the workload stays as its author wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from policies.config.default_constraints import INJECT_ANNOTATION, MIRROR_ANNOTATION
from policies.config.spread_policy import Defaults, DefaultsSource, InjectAt, SpreadPolicy
from policies.emit.cel import literal
from policies.emit.emitted import (
    LeftOut,
    kinds_in_scope,
    left_out_of_scope,
    match_conditions,
    match_constraints,
    object_name,
    with_binding,
)
from policies.emit.variables import descent, is_kind, step, template_variables
from policies.manifests.errors import UsageError
from policies.model.controller_labels import controller_label_keys
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.version import KubernetesVersion
from policies.model.workload_kinds import KNOWN_KINDS

KIND = "MutatingAdmissionPolicy"
#: The newest version of the API that a release serves: ``pkg/features``, Kubernetes 1.36.
VERSIONS = (
    (KubernetesVersion(1, 36), "v1"),
    (KubernetesVersion(1, 34), "v1beta1"),
    (KubernetesVersion(1, 32), "v1alpha1"),
)
#: The kinds whose pods can be counted by a selector of their own.
_KINDS = tuple(kind for kind in KNOWN_KINDS if kind.spreads and kind.selector is not None)
_PATH = "/spec/template/spec/topologySpreadConstraints"


def api_version(version: KubernetesVersion) -> str:
    """Return the version of the API of a release.

    Raises:
        UsageError: The release has none.

    >>> api_version(KubernetesVersion(1, 35))
    'v1beta1'
    """
    for since, name in VERSIONS:
        if version >= since:
            return name
    raise UsageError(f"Kubernetes {version} has no {KIND}: {VERSIONS[-1][0]} or newer has")


def mutating_policies(
    policy: SpreadPolicy, version: KubernetesVersion, trusted: Collection[str]
) -> tuple[list[dict[str, Any]], list[LeftOut]]:
    """Return the default constraints of a SpreadPolicy as objects, and what they leave out.

    Args:
        policy: The policy.
        version: The release of the API server.
        trusted: The users that are believed of owners of custom kinds.

    Raises:
        UsageError: The release is too old.
    """
    served, defaults = api_version(version), policy.defaults
    left_out = list(_left_out(policy))
    kinds = kinds_in_scope(policy.scope, _KINDS)
    if defaults is None or not defaults.constraints or defaults.at is InjectAt.PODS:
        return [], left_out
    left_out += left_out_of_scope(policy, kinds)
    if not kinds:
        return [], left_out
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": match_constraints(policy.scope, kinds, ("CREATE",)),
        "matchConditions": match_conditions(policy.scope, trusted),
        "variables": [
            {"name": name, "expression": expression} for name, expression in _variables(defaults).items()
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _patch(policy.name)}}],
    }
    return with_binding(KIND, served, object_name(policy.name, "inject"), spec, {}), left_out


def _left_out(policy: SpreadPolicy) -> Iterator[LeftOut]:
    yield LeftOut(policy.name, "rules", "a mutating policy checks nothing: --as vap emits them")
    defaults = policy.defaults
    if defaults is None:
        yield LeftOut(policy.name, "defaults", "there are none: nothing is injected")
        return
    if defaults.at is not InjectAt.WORKLOADS:
        reason = "the selector of a pod is that of its Services and its controller: it needs the cluster"
        yield LeftOut(policy.name, f"defaults.at: {defaults.at}", reason, partly=defaults.at is InjectAt.BOTH)
    if defaults.source is DefaultsSource.SCHEDULER:
        yield LeftOut(policy.name, "defaults.source: scheduler", "needs the configuration of the scheduler")
    elif defaults.at is not InjectAt.PODS:
        reason = f"{INJECT_ANNOTATION} on the owner of a workload does not count: it needs other objects"
        yield LeftOut(policy.name, "defaults", reason, partly=True)


def _variables(defaults: Defaults) -> dict[str, str]:
    revisions = [kind for kind in _KINDS if kind.revision_label is not None]
    label = "''"
    for kind in revisions:
        label = f"{is_kind([kind])} ? {literal(kind.revision_label)} : {label}"
    plain = any(kind.selector_is_map for kind in _KINDS)
    maps = is_kind(kind for kind in _KINDS if kind.selector_is_map)
    selector = descent("object", ("spec", "selector"))
    of_map = f"{selector}.size() > 0 ? dyn({{'matchLabels': {selector}}}) : dyn({{}})"
    return {
        **template_variables(old=False),
        "selector": f"{maps} ? ({of_map}) : {selector}" if plain else selector,
        "matchLabels": step("variables.selector", "matchLabels"),
        "matchExpressions": (
            "has(variables.selector.matchExpressions) && type(variables.selector.matchExpressions) == list "
            "? variables.selector.matchExpressions : dyn([])"
        ),
        "optedOut": _opted_out(),
        "isOwned": _owned(),
        "selectsOwnPods": _selects_own_pods(),
        "isInjected": (
            "variables.specs[0].size() > 0 && (!has(variables.specs[0].topologySpreadConstraints) "
            "|| type(variables.specs[0].topologySpreadConstraints) == null_type) "
            "&& !variables.optedOut && !variables.isOwned && variables.selectsOwnPods"
        ),
        "revisionLabel": label,
        "matchLabelKeys": (
            "variables.revisionLabel == '' || variables.revisionLabel in variables.matchLabels "
            "|| variables.matchExpressions.exists(e, e.key == variables.revisionLabel) "
            "? [] : [variables.revisionLabel]"
        ),
        "constraints": _constraints(defaults),
    }


def _opted_out() -> str:
    """An annotation of the workload, of its template or of its namespace, or a static pod's mirror."""
    holders = ("dyn(object)", "variables.templates[0]", "dyn(namespaceObject)")
    annotations = ", ".join(descent(holder, ("metadata", "annotations")) for holder in holders)
    key = literal(INJECT_ANNOTATION)
    return (
        f"[{annotations}].exists(m, {key} in m && m[{key}] == 'false') "
        f"|| {literal(MIRROR_ANNOTATION)} in {descent('object', ('metadata', 'annotations'))}"
    )


def _owned() -> str:
    """An owner that may make the workload again and again, see ``default_constraints``."""
    return (
        "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, "
        "has(owner.controller) && owner.controller && (owner.apiVersion.matches('^[^/]*[.].*/') "
        "? !owner.apiVersion.matches('^[^/]*[.]k8s[.]io/') "
        ": owner.kind == 'Deployment' && request.kind.kind == 'ReplicaSet'))"
    )


def _selects_own_pods() -> str:
    """The workload has a selector that may be injected, see ``default_constraints.own_selector``."""
    labels = "variables.labels[0]"
    made = "[]"
    for kind in _KINDS:
        if keys := controller_label_keys(kind):
            made = f"{is_kind([kind])} ? {literal(keys)} : {made}"
    # What the controller generates is there, and has no value that a selector names.
    given = f"!(key in made) && key in {labels} && {labels}[key] == variables.matchLabels[key]"
    return (
        "(variables.matchLabels.size() > 0 || variables.matchExpressions.size() > 0) "
        f"&& [{made}].all(made, variables.matchLabels.all(key, {given}) "
        "&& variables.matchExpressions.all(e, "
        f"e.operator == 'In' ? !(e.key in made) && e.key in {labels} && {labels}[e.key] in e.values "
        f": e.operator == 'NotIn' ? !(e.key in {labels}) || !({labels}[e.key] in e.values) "
        f": e.operator == 'Exists' ? e.key in {labels} "
        f": e.operator == 'DoesNotExist' && !(e.key in made) && !(e.key in {labels})))"
    )


def _constraints(defaults: Defaults) -> str:
    def listed(*, with_keys: bool) -> str:
        added = "'labelSelector': dyn(variables.selector)"
        if with_keys:
            added += ", 'matchLabelKeys': dyn(variables.matchLabelKeys)"
        entries = (literal(entry.to_dict()).removesuffix("}") for entry in defaults.constraints)
        return "[" + ", ".join(f"{entry}, {added}" + "}" for entry in entries) + "]"

    return f"variables.matchLabelKeys.size() == 0 ? {listed(with_keys=False)} : {listed(with_keys=True)}"


def _patch(name: str) -> str:
    """The smallest patch, see ``injection.injection_patch``."""
    mark, key = literal(name), literal(INJECTED_ANNOTATION)
    return (
        "!variables.isInjected ? [] : "
        f"[JSONPatch{{op: 'add', path: '{_PATH}', value: variables.constraints}}, "
        "has(object.metadata.annotations) "
        "? JSONPatch{op: 'add', path: '/metadata/annotations/' "
        f"+ jsonpatch.escapeKey({key}), value: {mark}}} "
        f": JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{{key}: {mark}}}}}]"
    )
