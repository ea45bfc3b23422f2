"""The Common Expression Language, as far as rules are written in it: literals and checks. Evaluates nothing."""
