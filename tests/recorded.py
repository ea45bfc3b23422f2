"""AdmissionReview requests that a real API server sent, by name; ``data/README.md`` says where from."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from webhook.admission.respond import Phase


@cache
def recorded_reviews() -> dict[str, bytes]:
    """Return the bodies of all recorded requests."""
    with gzip.open(Path(__file__).parent / "data/admissionreviews.jsonl.gz", "rt") as lines:
        return {entry["name"]: entry["body"].encode() for entry in map(json.loads, lines)}


def phase_of(name: str) -> Phase:
    """Return which webhook a recorded request was sent to."""
    return Phase(name.split(".")[1])
