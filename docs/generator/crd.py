"""The CustomResourceDefinition of SpreadPolicy, as the chart and the kustomization install it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from docs.generator.roles import DEPLOY
from policies.config.crd import CEL, build_crd

CHART: Final = DEPLOY / "helm/evenkeel/templates/crd.yaml"
BASE: Final = DEPLOY / "kustomize/base/crd.yaml"

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
