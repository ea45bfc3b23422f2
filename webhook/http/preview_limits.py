"""The limits of policy previews: they need no credentials, and share nothing with requests that do."""

from __future__ import annotations

from typing import Final

from webhook.admission.budget import RESERVED_SHARE
from webhook.http.child_processes import ChildProcesses, ResourceLimits

#: Seconds that a preview takes at most, whatever timeout a request gives itself: what ours give the webhooks
#: of policies, but for what is kept of it.
LONGEST_PREVIEW_S: Final = 3.0 * (1 - RESERVED_SHARE)
#: Bytes beyond those of the server: a preview keeps what it found, and none of what it read.
_MEMORY_BYTES: Final = 128 * 2**20
#: Previews that wait for one another; more than people change policies at once.
MOST_PREVIEWS: Final = 8


def preview_processes() -> ChildProcesses:
    """Return the processes of previews: one at a time, apart from those of /v1, which needs credentials."""
    return ChildProcesses(ResourceLimits(timeout_s=LONGEST_PREVIEW_S, memory_bytes=_MEMORY_BYTES))
