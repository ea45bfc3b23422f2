"""The exceptions of certs: raised where work with certificates cannot go on.

Every message names the file or the name, says what is wrong and what to do about it.

CertificateError               the root; every one of them         → exit 2
├── NamesError                 names that no certificate can carry, one line each
├── UnreadableError            a file is missing or cannot be read
├── MalformedError             a file does not hold what it should
├── MismatchedKeyError        a private key that belongs to another certificate
├── CAError             an authority that cannot sign: expired, not valid yet, or none at all
├── NotYetValidError           a certificate whose validity has not begun, where a better one is served
├── ExistingFilesError         files would be overwritten that must not be
└── UnwritableError            a folder or a file in it cannot be written
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


class CertificateError(Exception):
    """The root of everything that certs raises on purpose."""


class NamesError(CertificateError):
    """Names that cannot stand in a certificate; every problem is one line, ready to be read."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class UnreadableError(CertificateError):
    """A file that is missing or cannot be read; another try may succeed."""


class MalformedError(CertificateError):
    """A file that could be read but does not hold what it should."""


class MismatchedKeyError(CertificateError):
    """A private key and a certificate that do not belong together."""


class CAError(CertificateError):
    """A certificate that cannot sign others."""


class NotYetValidError(CertificateError):
    """A certificate whose validity has not begun; ``begins`` says when it will."""

    def __init__(self, message: str, begins: datetime) -> None:
        self.begins = begins
        super().__init__(message)


class ExistingFilesError(CertificateError):
    """Files that are already there and that nobody allowed to be replaced."""


class UnwritableError(CertificateError):
    """A folder, or a file in it, that cannot be written."""
