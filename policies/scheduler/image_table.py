"""Which nodes have which images.

Source: ``addNodeImageStates`` and ``removeNodeImageStates``, ``pkg/scheduler/backend/cache/cache.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class ImageState(NamedTuple):
    """An image of the cluster.

    Attributes:
        size: Bytes, as the first of its nodes has it; others may have another.
        slots: The node slots that have it.
    """

    size: int
    slots: set[int]


class ImageTable:
    """The images of the nodes, by name."""

    __slots__ = ("_images",)

    def __init__(self) -> None:
        self._images: dict[str, ImageState] = {}

    def copy(self) -> ImageTable:
        """Return a table of its own."""
        fork = ImageTable()
        fork._images = {
            name: ImageState(state.size, set(state.slots)) for name, state in self._images.items()
        }
        return fork

    def find(self, name: str) -> ImageState | None:
        """Return an image, or None if no node has it."""
        return self._images.get(name)

    def replace(self, slot: int, old: Iterable[tuple[str, int]], new: Iterable[tuple[str, int]]) -> None:
        """Put the images of a node in the place of those that it had."""
        for name, _ in old:
            state = self._images.get(name)
            if state is not None:
                state.slots.discard(slot)
                if not state.slots:
                    del self._images[name]
        for name, size in new:
            self._images.setdefault(name, ImageState(size, set())).slots.add(slot)
