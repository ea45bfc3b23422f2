"""The conformance corpus, and ``evenkeel conformance``, which runs it against a model of kube-scheduler."""
