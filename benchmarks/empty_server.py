"""The floor of ``benchmarks/serving.py``: an ASGI application that answers the same to everything."""

from __future__ import annotations

from webhook.http.body import Receive, Scope, Send

#: About what an AdmissionReview that allows takes, in bytes.
_ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
    b'"response":{"uid":"105e2a77-8705-4fe7-8887-47df85f462bd","allowed":true}}'
)
#: Its headers.
_HEADERS = [(b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(_ANSWER))]


async def empty(_scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and answer."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _ANSWER})
