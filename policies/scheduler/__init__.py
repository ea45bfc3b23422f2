"""kube-scheduler's PodTopologySpread, and the filters around it, on numpy arrays.

Axes of arrays, by the letter that shapes use:

- ``n`` nodes of the cluster, sorted by name
- ``s`` node slots of the index: a node keeps its slot while it or a pod on it exists; slot 0 is nowhere
- ``p`` pods of one namespace, in the order of their slots
- ``l`` label sets of one namespace: pods with equal labels share one; set 0 is never selected
- ``d`` domains of one topology key
- ``r`` resources

Words, as the API and the scheduler use them: a *domain* is a value of a topology key; *matching* pods are
those that a constraint's selector counts; *self match* is 1 if the incoming pod is one of them; the
*minimum* is the smallest count over all domains; *skew* is what a domain would be above it; an *eligible*
node takes part in the counts; a *feasible* node passes every filter.
"""
