"""Whether a model of kube-scheduler answers as kube-scheduler does: cases, features, comparison, run."""
