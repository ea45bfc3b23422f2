"""Put a caBundle into the webhook configurations of a manifest, and change nothing else in its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography import x509

from certs.inject import CONFIGURATION_KINDS, encode_bundle, stale_webhooks
from policies.manifests.documents import Document, ManifestObject, load, objects
from policies.manifests.edits import Edit
from policies.manifests.errors import DocumentError
from policies.manifests.rewrite import RewriteRefusal, rewrite


def inject_manifest(
    content: bytes, file: str, bundle: Iterable[x509.Certificate], *, name: str = ""
) -> bytes:
    """Return a manifest whose webhook configurations trust exactly these certificates.

    Args:
        content: YAML or JSON, of one document or more.
        file: What messages call it.
        bundle: The CAs to trust.
        name: The configurations' name; empty for all of them.

    Raises:
        DocumentError: It cannot be read or edited, or has no such configuration.
    """
    bundle = tuple(bundle)
    documents = load(content, file)
    found = [entry for document in documents for entry in _configurations(document, name)]
    if not found:
        raise DocumentError([f"{file}: no webhook configuration{f' named {name}' if name else ''}"])
    edits: dict[int, list[Edit]] = {}
    for entry in found:
        edits.setdefault(entry.document.index, []).extend(_edits(entry, bundle))
    result = rewrite(content, documents, edits)
    if isinstance(result, RewriteRefusal):
        raise DocumentError([f"{file}:{result.line}: {result.problem}"])
    return result


def _configurations(document: Document, name: str) -> Iterator[ManifestObject]:
    for entry in objects(document):
        metadata = entry.value.get("metadata")
        called = metadata.get("name") if isinstance(metadata, dict) else None
        if entry.value.get("kind") in CONFIGURATION_KINDS and (not name or called == name):
            yield entry


def _edits(entry: ManifestObject, bundle: tuple[x509.Certificate, ...]) -> Iterator[Edit]:
    value = encode_bundle(bundle)
    for position in stale_webhooks(entry.value, bundle):
        path = entry.path.child("webhooks").index(position).child("clientConfig", "caBundle")
        yield Edit(path, entry.value["webhooks"][position]["clientConfig"].get("caBundle"), value)
