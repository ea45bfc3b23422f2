"""The Common Expression Language, as far as rules are written in it. Evaluates nothing."""
