"""The floor of ``benchmarks/serving.py``: an application that reads nothing, served exactly like ours.

Usage: python -m benchmarks.empty_server CERTIFICATE KEY WORKERS THREADS
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhook.gunicorn.application import Application, Served
from webhook.gunicorn.listener import open_listener, shown_address
from webhook.settings import Settings
from webhook.telemetry.logs import LOGGER, EventLog, set_up

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: About what an AdmissionReview that allows takes, in bytes.
_ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
    b'"response":{"uid":"105e2a77-8705-4fe7-8887-47df85f462bd","allowed":true}}'
)
#: Its headers.
_HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(_ANSWER)))]


def empty(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer the same to everything."""
    start_response("200 OK", list(_HEADERS))
    return [_ANSWER]


def main(certificate: str, key: str, workers: str, threads: str) -> None:
    """Serve until SIGINT."""
    settings = Settings(cert=certificate, key=key, workers=int(workers), threads=int(threads), drain_s=0)
    events = EventLog(settings.log_format, settings.log_level, descriptor=sys.stderr.fileno())
    set_up(events, settings.log_level)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    listener = open_listener("127.0.0.1:0")
    fields = {"url": f"https://{shown_address(listener)}"}
    served = Served(
        wsgi=empty,
        listener=listener,
        ssl_context=lambda: context,
        certificate_file=certificate,
        quick=(b"POST ",),
        when_ready=lambda: LOGGER.info("serving", extra={"fields": fields}),
    )
    Application(settings, served).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
