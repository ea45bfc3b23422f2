"""One request to an admission route: all that an answer is made from, besides what is in force."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from webhook.admission.budget import Budget


class Phase(StrEnum):
    """Which of the two webhooks is called."""

    MUTATE = "mutate"
    VALIDATE = "validate"


class ReviewRequest(NamedTuple):
    """A request whose body has come.

    Attributes:
        body: The AdmissionReview, or its beginning.
        phase: Which webhook is called.
        budget: The time that the request has.
    """

    body: bytes
    phase: Phase
    budget: Budget
