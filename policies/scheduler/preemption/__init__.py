"""DefaultPreemption: which pods of lower priority would be evicted for a pod that fits nowhere.

``demands`` are the conditions of plugins that depend on the pods of a node; ``victims`` finds the pods that
may be evicted, as arrays, ``dry_run`` which of them must be, node by node, and ``preempt`` chooses the node.
Besides the axes of ``policies.scheduler``:

- ``q`` demands
- ``v`` pods that may be evicted, by node and then by importance
- ``g`` nodes with such pods
"""
