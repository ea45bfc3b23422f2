"""The server state of the app that answers the current request."""

from __future__ import annotations

from typing import cast

from flask import current_app

from webhook.http.state import ServerState

#: Where the app keeps its state.
STATE_KEY = "evenkeel"


def state() -> ServerState:
    """Return the state that ``create_app`` was given."""
    return cast("ServerState", current_app.extensions[STATE_KEY])
