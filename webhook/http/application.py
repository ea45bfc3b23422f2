"""The ASGI callable that gunicorn serves: the admission routes, and Flask for all others."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from webhook.http.admission import PHASES, AdmissionRoutes
from webhook.http.body import Receive, Scope, Send
from webhook.http.flask_app import create_app
from webhook.http.pages import Pages
from webhook.http.state import ServerState


class HttpApplication:
    """Answers every request of one process."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._admission = AdmissionRoutes(state)
        self._pages = Pages(state, create_app(state))
        self._routes = dict.fromkeys(PHASES, self._admission)
        #: By path, what may answer a review as soon as it has come.
        self.at_once = {
            path.encode(): partial(self._admission.at_once, phase) for path, phase in PHASES.items()
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request."""
        return self._routes.get(scope["path"], self._pages)(scope, receive, send)

    def tick(self) -> None:
        """Do what is due beside the requests; called now and then, and before the process ends."""
        self._admission.settle()
        self._state.tick()
