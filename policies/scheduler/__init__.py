"""kube-scheduler's PodTopologySpread, and the filters around it, on numpy arrays.

``evaluate`` runs the plugins of the ``profile`` over the nodes of an ``index`` for a ``request`` and returns
a ``result``; ``fit_error`` words it as the scheduler does. ``configuration`` and ``defaults`` give a pod its
constraints, ``eligibility`` decides which nodes they count, ``release_changes`` says what differs between
releases. ``binding`` schedules one pod after another, by ``repeated`` where they are alike. ``domain_stats``,
``rejections`` and ``candidates`` are about results; ``workload_topology`` and ``capacity`` serve the rules.

Axes of arrays, by the letter that shapes use:

- ``n`` nodes of the cluster, sorted by name
- ``s`` node slots of the index: a node keeps its slot while it or a pod on it exists; slot 0 is no node
- ``p`` pods of one namespace, in the order of their slots
- ``l`` label sets of one namespace: pods with equal labels share one; set 0 is never selected
- ``d`` domains of one topology key
- ``r`` resources

Words, as the API and the scheduler use them: a *domain* is a value of a topology key; *matching* pods are
those that a constraint's selector selects; *self match* is 1 if the incoming pod is one of them; an
*eligible* node takes part in the counts; the *minimum* is the smallest count over all eligible domains;
*skew* is what a domain with the pod would be above it; a *feasible* node passes every filter.
"""
