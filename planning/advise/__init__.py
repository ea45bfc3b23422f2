"""The constraints that would reach a goal."""
