"""The exceptions of certs: raised where work with certificates cannot go on.

Every message names the file or the name, says what is wrong and what to do about it.

CertificateError           the root; every one of them             → exit 2
├── UnreadableError        a file is missing or cannot be read; another try may succeed
└── MismatchedKeyError     a private key of another certificate; a writer may be replacing the two
"""

from __future__ import annotations


class CertificateError(Exception):
    """The root of everything that certs raises on purpose."""


class UnreadableError(CertificateError):
    """A file that is missing or cannot be read; another try may succeed."""


class MismatchedKeyError(CertificateError):
    """A private key and a certificate that do not belong together."""
