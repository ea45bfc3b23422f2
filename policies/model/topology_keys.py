"""Node labels that people spread over: those with a new name, and short names that no node has by itself."""

from __future__ import annotations

from policies.model.version import KubernetesVersion

#: The node label of zones.
ZONE = "topology.kubernetes.io/zone"
#: The node label of regions.
REGION = "topology.kubernetes.io/region"
#: The node label with the node's own name.
HOSTNAME = "kubernetes.io/hostname"

#: New names of labels that are deprecated since ``RENAMED_SINCE``: ``pkg/api/node/util.go``, Kubernetes 1.36.
RENAMED = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": REGION,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
}
#: The first release whose nodes carry all the new names.
RENAMED_SINCE = KubernetesVersion(1, 17)
#: Short names as examples write them, and what was meant.
SHORT_NAMES = {"host": HOSTNAME, "hostname": HOSTNAME, "node": HOSTNAME, "region": REGION, "zone": ZONE}
