"""How much time and room helm, kustomize and Git may take for files of others, and why one gave nothing."""

from __future__ import annotations

from typing import Final

from policies.manifests.skipped import SkipReason


class ToolError(Exception):
    """Something could not be rendered; the text says why.

    Attributes:
        reason: The same for programs.
        needs: What would have to be downloaded.
    """

    def __init__(
        self, text: str, reason: SkipReason = SkipReason.TOOL_FAILED, needs: tuple[str, ...] = ()
    ) -> None:
        super().__init__(text)
        self.reason, self.needs = reason, needs


#: Seconds that a program may take for one chart or kustomization. They take one or two.
TIMEOUT_S: Final = 60
#: Seconds of the processor that a program may take; the largest charts take two.
PROCESSOR_S: Final = 10
#: Seconds of the processor that every program of a run may take, however many there are.
ORDINARY_S: Final = 2
#: Seconds of the processor that all programs of a run may take beyond that, together.
EXTRA_S: Final = 60
#: Bytes that a program may print; the largest charts print a sixth of it.
MAX_OUTPUT: Final = 2**25
#: Bytes of address space that a program may have. Helm and kustomize reserve 0.8 GiB and seldom use 0.2 more.
MAX_MEMORY: Final = 2**31
