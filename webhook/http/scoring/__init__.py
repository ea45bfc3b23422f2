"""Score requests in, verdicts out; no web framework."""
