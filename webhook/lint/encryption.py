"""Tell files that are encrypted from files that are broken: nobody can read them here, and nobody should."""

from __future__ import annotations

from typing import Final

#: How encrypted files start, and what encrypts them.
_STARTS: Final = (
    (b"\0GITCRYPT\0", "git-crypt"),
    (b"$ANSIBLE_VAULT;", "Ansible Vault"),
    (b"age-encryption.org/v1", "age"),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", "age"),
    (b"-----BEGIN PGP MESSAGE-----", "OpenPGP"),
    (b"Salted__", "OpenSSL"),
    (b"U2FsdGVkX1", "OpenSSL"),
)


def encrypted_with(content: bytes) -> str:
    r"""Return what a whole text is encrypted with, empty if it is not.

    >>> encrypted_with(b"$ANSIBLE_VAULT;1.1;AES256\n6130"), encrypted_with(b"kind: Pod")
    ('Ansible Vault', '')
    """
    start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    for mark, tool in _STARTS:
        if start.startswith(mark):
            return tool
    return ""


def is_sops(value: object) -> bool:
    """Tell whether SOPS has encrypted a document: names stay readable, and a field of its own says how.

    >>> is_sops({"kind": "Secret", "sops": {"mac": "ENC[AES256_GCM,data:x]", "version": "3.9"}})
    True
    """
    sops = value.get("sops") if isinstance(value, dict) else None
    return isinstance(sops, dict) and "mac" in sops
