"""The most that is asked of simulations, which options and requests check before anything is placed."""

from __future__ import annotations

from typing import Final

#: The most pods that are scheduled: Kubernetes supports clusters of up to 150,000.
MOST_PODS: Final = 150_000
#: Pods of one workload that are rolled out or scaled: each is scheduled, which takes some milliseconds where
#: nodes are thousands, and compared with the others.
MOST_ROLLED_OUT: Final = 2_000
#: Replicas of a workload that are placed for advice, for every set of constraints twice: with 5,000 nodes
#: each takes some milliseconds.
MOST_ADVISED: Final = 1_000
#: The largest seed: any would do, and programs that keep numbers as doubles have all of these.
MOST_SEED: Final = 2**53 - 1
