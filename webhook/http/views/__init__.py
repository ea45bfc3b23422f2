"""Flask's views, and the functions that compute the answers of the API: parse, call, answer; no logic."""
