"""The rights to follow a cluster and its policies, which the roles of chart and kustomization have alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
FILES: Final = (DEPLOY / "helm/evenkeel/templates/rbac.yaml", DEPLOY / "kustomize/base/rbac.yaml")
#: The rules behind the comment that says that they are generated, up to the next comment.
_RULES = re.compile(r"(?<=`make generate` writes these rules\.\n)(?:[- ] .*\n)+")


def roles() -> Mapping[Path, str]:
    """Return the files of the roles with the rights of today."""
    return {file: _RULES.sub(_rules(), file.read_text("utf-8"), count=1) for file in FILES}


def _rules() -> str:
    """Return a rule for each group of watched resources."""
    named = sorted((resource.group, resource.plural) for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES))
    return "".join(
        f"- apiGroups: [{group or chr(34) * 2}]\n  resources: [{', '.join(plural for _, plural in found)}]\n"
        "  verbs: [list, watch]\n"
        for group, found in groupby(named, key=lambda entry: entry[0])
    )
