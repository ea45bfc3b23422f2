"""Which replicas would get connections: those whose /readyz says yes, as a kubelet sees it."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus

#: Seconds between two looks. A kubelet looks every few seconds; tests have less time.
PERIOD_S = 0.2
#: Seconds for an answer. A kubelet gives 1 s; two cores that do everything at once need longer.
TIMEOUT_S = 5.0


def asked(port: int, path: str, *, token: str = "", body: object = None) -> tuple[int, bytes]:
    """Ask a replica as a kubelet does: without looking at its certificate; status 0 if it does not answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=TIMEOUT_S)
    try:
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error).encode()
    finally:
        connection.close()


class Readiness:
    """Looks again and again, at each replica in a thread of its own; ``ready`` has the ports of those."""

    def __init__(self, ports: Sequence[int], *, changed: Callable[[int, str], None]) -> None:
        self.ready: tuple[int, ...] = ()
        self._changed = changed
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._look, args=(port,), daemon=True) for port in ports]
        for thread in self._threads:
            thread.start()

    def _look(self, port: int) -> None:
        while not self._stopped.wait(PERIOD_S):
            ready = asked(port, "/readyz")[0] == HTTPStatus.OK
            with self._lock:
                if ready == (port in self.ready):
                    continue
                others = tuple(other for other in self.ready if other != port)
                self.ready = (*others, port) if ready else others
            self._changed(port, "ready" if ready else "unready")

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
