"""A stand-in for kube-proxy: one address before the ready replicas, one of them chosen per connection.

Run as ``python -m tests.e2e.forwarder PORT REPLICA...``; prints a line whenever a replica becomes ready or
ceases to be. Open connections are kept, whatever becomes of readiness.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from contextlib import suppress

from tests.e2e.readiness import Readiness

#: Bytes that are passed on at once. Arbitrary.
_CHUNK = 1 << 16


class Forwarder:
    """Passes bytes on in both directions until either end closes."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # With nobody behind it a Service refuses; closing at once is as near as a listener comes.
        if not (ready := self._readiness.ready):
            writer.close()
            return
        try:
            replica = await asyncio.open_connection("127.0.0.1", random.choice(ready))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass(reader, replica[1]), _pass(replica[0], writer))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _serve(port: int, replicas: Sequence[int]) -> None:
    readiness = Readiness(replicas, changed=_tell)
    server = await asyncio.start_server(Forwarder(readiness), "127.0.0.1", port)
    await server.serve_forever()


def _tell(port: int, state: str) -> None:
    sys.stdout.write(f"{port} {state}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), [int(word) for word in sys.argv[2:]]))
