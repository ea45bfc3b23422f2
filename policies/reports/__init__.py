"""Answers of linter and policies as text or as data, and what all texts share."""
