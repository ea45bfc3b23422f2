"""What the chart and the kustomization have alike: the definition of SpreadPolicy, rights, webhooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import yaml

from docs.generator.crd import CEL, build_crd
from webhook import registration
from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES
from webhook.rbac import DEFAULT_NAMESPACE

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
CHART: Final = DEPLOY / "helm/evenkeel/templates/crd.yaml"
BASE: Final = DEPLOY / "kustomize/base/crd.yaml"
WEBHOOKS: Final = DEPLOY / "kustomize/base/webhooks.yaml"
ROLES: Final = (DEPLOY / "helm/evenkeel/templates/rbac.yaml", DEPLOY / "kustomize/base/rbac.yaml")
#: The rules behind the comment that says that they are generated, up to the next comment.
_RULES = re.compile(r"(?<=`make generate` writes these rules\.\n)(?:[- ] .*\n)+")

_NOTE: Final = "# SpreadPolicy. `make generate` writes this file.\n"
_BEFORE: Final = """\
{{- if .Values.crds.install }}
{{- $rules := include "evenkeel.since" (dict "root" . "release" "1.30") }}
"""
_AFTER: Final = "{{- end }}\n"
#: The labels of every object, and what keeps Helm from deleting the policies with the release.
_CHART_METADATA: Final = """\
  labels:
    {{- include "evenkeel.labels" . | nindent 4 }}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""
_BASE_METADATA: Final = """\
  labels:
    app.kubernetes.io/name: evenkeel
    app.kubernetes.io/instance: evenkeel
"""
#: The name of the definition, behind which its labels go.
_NAME: Final = re.compile(r"(?<=^metadata:\n)  name: .*\n", re.MULTILINE)


def definitions() -> Mapping[Path, str]:
    """Return the files of the definition."""
    text = yaml.safe_dump(json.loads(json.dumps(build_crd())), sort_keys=False, width=120)
    chart = "".join(_conditional(_with_metadata(text, _CHART_METADATA).splitlines(keepends=True)))
    return {
        BASE: _NOTE + _with_metadata(text, _BASE_METADATA),
        CHART: f"{_BEFORE}{_NOTE}{chart}{_AFTER}",
    }


def _with_metadata(text: str, metadata: str) -> str:
    return _NAME.sub(lambda found: found[0] + metadata, text, count=1)


def _conditional(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the definition, with CEL rules for releases that have them."""
    indent: int | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        inside = indent is not None and (depth > indent or line[depth:].startswith("- "))
        if indent is not None and not inside:
            yield f"{' ' * indent}{{{{- end }}}}\n"
            indent = None
        if line.strip() == f"{CEL}:":
            indent = depth
            yield f"{' ' * depth}{{{{- if $rules }}}}\n"
        yield line


def roles() -> Mapping[Path, str]:
    """Return the files of the roles with the rights of today."""
    return {file: _RULES.sub(_rules(), file.read_text("utf-8"), count=1) for file in ROLES}


def _rules() -> str:
    """Return a rule for each group of watched resources."""
    named = sorted((resource.group, resource.plural) for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES))
    return "".join(
        f"- apiGroups: [{group or chr(34) * 2}]\n  resources: [{', '.join(plural for _, plural in found)}]\n"
        "  verbs: [list, watch]\n"
        for group, found in groupby(named, key=lambda entry: entry[0])
    )


def webhooks() -> Mapping[Path, str]:
    """Return the file by which doctor and replicas know what is registered, in whatever namespace."""
    entries = (
        {"configuration": configuration["kind"], "webhook": _without_client(webhook)}
        for configuration in yaml.safe_load_all(WEBHOOKS.read_text("utf-8"))
        for webhook in configuration["webhooks"]
    )
    file = Path(registration.__file__).with_name(registration.SHIPPED)
    return {file: "".join(f"{json.dumps(entry)}\n" for entry in entries)}


def _without_client(webhook: Mapping[str, Any]) -> dict[str, Any]:
    """Return a webhook without the Service that it calls, and with any namespace for Evenkeel's own."""
    found = {name: value for name, value in webhook.items() if name != "clientConfig"}
    text = json.dumps(found).replace(f', "{DEFAULT_NAMESPACE}"]', f', "{registration.OWN_NAMESPACE}"]')
    return dict(json.loads(text))
