"""Targets of patches."""

from __future__ import annotations

import pytest

from webhook.lint.kustomization_fields import is_target

WEB = {"metadata": {"labels": {"app": "web", "tier": "front"}, "annotations": {"a": "b"}}}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, True),
        ({"kind": "Deployment"}, True),
        ({"kind": "Deploy"}, False),
        ({"kind": "Deploy.*", "name": "we."}, True),
        ({"name": "p-web"}, True),
        ({"name": "["}, False),
        ({"name": "web|api|.*-db"}, True),
        ({"name": "(w+)+$"}, False),
        ({"name": "w*e*b*"}, False),
        ({"labelSelector": "app=web,tier==front"}, True),
        ({"labelSelector": "app=web, tier!=front"}, False),
        ({"labelSelector": "app"}, True),
        ({"labelSelector": "!app"}, False),
        ({"labelSelector": "app in (api, web),tier"}, True),
        ({"labelSelector": "app in (api)"}, False),
        ({"labelSelector": "app notin (api,db)"}, True),
        ({"labelSelector": "app notin (web),tier"}, False),
        ({"labelSelector": "app=(("}, False),
        ({"labelSelector": 3}, True),
        ({"annotationSelector": "a=b"}, True),
        ({"annotationSelector": "a=c"}, False),
    ],
    ids=str,
)
def test_is_target(target: dict[str, object], *, expected: bool) -> None:
    """Names are regular expressions for the whole; selectors are those of kubectl."""
    assert expected is is_target(target, "Deployment", {"web", "p-web"}, WEB)
