"""What becomes of one object: exemptions, injected defaults, and the decision on it."""
