"""Starts the command: Ctrl-C ends it at any moment, quietly.

While Python imports the command, an interrupt would print a traceback, so it has its default action until
then. Later it becomes a ``KeyboardInterrupt``, which Python prints and forgets if it is raised in a callback:
after a fork, for a weak reference, in a finalizer. Such a one is raised again a moment later.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: Objects made since the last collection after which Python looks for cycles: modules and clusters are many
#: objects and leave hardly any. Most runs end before; a hundred thousand take some 10 MB.
COLLECT_AFTER: Final = 100_000
#: Seconds until a lost interrupt is raised again: callbacks are over by then.
AGAIN_S: Final = 0.01


def run() -> NoReturn:
    """Run the command of this process' arguments and exit."""
    gc.set_threshold(COLLECT_AFTER)
    interruptible = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from webhook.cli import main  # see above

    sys.unraisablehook = _raise_again
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main.run()


def _raise_again(lost: UnraisableHookArgs) -> None:
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    if not hasattr(signal, "setitimer"):
        # On Windows.
        threading.Timer(AGAIN_S, signal.raise_signal, [signal.SIGINT]).start()
        return
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
