"""The entry point of ``evenkeel`` and ``kubectl-evenkeel``.

In the repository ``certs``, ``planning``, ``policies`` and ``webhook`` are top-level packages. Other
distributions may have such names too, so a wheel holds them below ``kube_evenkeel``, and only this process
finds them there.

Ctrl-C would print a traceback while Python imports: what is imported above is no more than is needed to say
otherwise.
"""

from __future__ import annotations

import os
import signal
import sys


def run() -> None:
    """Run the command of this process' arguments and exit."""
    # A shell starts background commands with SIGINT ignored, and then it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # see above
    if os.path.isdir(f"{here}/webhook"):  # noqa: PTH112
        sys.path.insert(0, here)
    from webhook.cli import start  # noqa: PLC0415  # found only now

    start.run()
