"""Answers that are never made; a fork server imports them as it does those of ours."""

from __future__ import annotations

import os
import signal

from webhook.http.api_routes import ApiReply
from webhook.http.held_cluster import ApiQuestion, HeldCluster


def killed(_held: HeldCluster, *, question: ApiQuestion) -> ApiReply:
    """End as who is killed."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError(question)


def wrong(_held: HeldCluster, *, question: ApiQuestion) -> ApiReply:
    """Raise an error that is ours."""
    raise ZeroDivisionError(question.path)
