"""A caBundle in the text of a manifest."""

from __future__ import annotations

import json

import pytest

from certs.inject import encode_bundle, trusted_by
from policies.manifests.documents import load
from policies.manifests.emit import scalar_text
from policies.manifests.errors import DocumentError
from tests.certs.builders import CA
from webhook.cert_rotation.cluster_objects import inject_manifest

BUNDLE = (CA.certificate,)
TEXT = """\
# Who calls whom.
kind: ValidatingWebhookConfiguration
metadata: {name: evenkeel}
webhooks:
- name: a.b.c  # the first
  clientConfig:
    caBundle: CA_BUNDLE  # put in
    service: {name: evenkeel}
- name: d.e.f
  clientConfig: {service: {name: evenkeel}}
---
kind: ConfigMap  # stays
data: {caBundle: x}
"""


def test_comments_and_order_stay() -> None:
    """Only the values change, and a second time nothing does."""
    result = inject_manifest(TEXT.encode(), "w.yaml", BUNDLE)
    value = scalar_text(encode_bundle(BUNDLE))
    expected = TEXT.replace("CA_BUNDLE  #", f"{value}  #").replace(
        "clientConfig: {service: {name: evenkeel}}",
        f"clientConfig: {{service: {{name: evenkeel}}, caBundle: {value}}}",
    )

    assert expected == result.decode()
    assert result == inject_manifest(result, "w.yaml", BUNDLE)


def test_lists_and_json() -> None:
    """The items of a List in JSON are found too."""
    configuration = load(TEXT, "w.yaml")[0].value
    content = json.dumps({"kind": "List", "items": [configuration]}).encode()
    result = json.loads(inject_manifest(content, "w.json", BUNDLE))

    assert [frozenset(BUNDLE)] * 2 == list(trusted_by(result["items"][0]).values())


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        pytest.param("kind: ConfigMap", "", "no webhook configuration", id="0 configurations"),
        pytest.param(TEXT, "other", "no webhook configuration named other", id="0 of a name"),
        pytest.param("kind: [", "", "w.yaml:1", id="no YAML"),
        pytest.param(
            "kind: MutatingWebhookConfiguration\nwebhooks:\n- &w {clientConfig: {caBundle: x}}\n- *w\n", "",
            "w.yaml:", id="1 anchor that another webhook uses",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_edited(text: str, name: str, problem: str) -> None:
    """It is refused with the file, and nothing is printed."""
    with pytest.raises(DocumentError, match=problem):
        inject_manifest(text.encode(), "w.yaml", BUNDLE, name=name)
