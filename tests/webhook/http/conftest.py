"""Fixtures of the tests of the HTTP side."""

from tests.webhook.preloaded import preloaded  # noqa: F401  # a fixture
