"""Fixtures of the tests of the page."""

from tests.webhook.preloaded import preloaded  # noqa: F401  # a fixture
