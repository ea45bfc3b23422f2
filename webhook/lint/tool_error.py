"""Why helm, kustomize or Git gave nothing: known also to what runs none of them."""

from __future__ import annotations

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
