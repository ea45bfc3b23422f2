"""An autoscaler of nodes for pending pods: Cluster Autoscaler or Karpenter."""

from __future__ import annotations

from typing import TypeAlias

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.karpenter.karpenter import Karpenter

#: Either of both.
NodeAutoscaler: TypeAlias = ClusterAutoscaler | Karpenter
