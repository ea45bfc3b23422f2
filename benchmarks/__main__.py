"""Run every benchmark; figures are worth reading as ratios to the floor beside them."""

from __future__ import annotations

from benchmarks import memory, review, serving

if __name__ == "__main__":
    review.run()
    serving.run()
    memory.run()
