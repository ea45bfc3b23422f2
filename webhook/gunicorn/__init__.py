"""Evenkeel's changes of gunicorn's ASGI worker: settings, deadlines of connections, and the drain."""
