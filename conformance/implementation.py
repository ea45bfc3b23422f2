"""The implementation under test: it answers score requests, or fails to."""

from __future__ import annotations

from typing import Final, Protocol

from conformance.case import Operation
from policies.manifests.errors import EvenkeelError

#: Bytes of one answer; the largest of Evenkeel to a case of the corpus has 60 KB.
MOST_ANSWER_BYTES: Final = 16 * 2**20


class ImplementationError(EvenkeelError):
    """No further request can be answered: the run ends."""


class NoAnswerError(EvenkeelError):
    """One request got no answer that can be used; the next may get one."""


class DeclinedError(EvenkeelError):
    """The implementation says that it does not answer such a request."""


class Implementation(Protocol):
    """Something that is tested."""

    title: str  #: How reports call it.
    operations: frozenset[Operation]  #: What it can answer.

    def answer(self, operation: Operation, request: bytes) -> bytes:
        """Return the answer to a request, both JSON.

        Raises:
            DeclinedError: It says that it does not answer it.
            NoAnswerError: It gives no answer.
            ImplementationError: It will give no more.
        """

    def close(self) -> None:
        """End what was started."""
