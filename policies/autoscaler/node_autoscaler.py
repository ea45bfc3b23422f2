"""An autoscaler of nodes for pending pods: Cluster Autoscaler or Karpenter."""

from __future__ import annotations

from typing import TypeAlias

from policies.autoscaler.autoscaler import ClusterAutoscaler
from policies.autoscaler.karpenter.karpenter import Karpenter

#: Either of both.
NodeAutoscaler: TypeAlias = ClusterAutoscaler | Karpenter
