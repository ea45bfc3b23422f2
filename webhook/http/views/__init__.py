"""Flask blueprints: parse, call, answer; no logic."""
