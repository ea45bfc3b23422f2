"""The entry point of ``evenkeel`` and ``kubectl-evenkeel``.

In the repository ``certs``, ``policies`` and ``webhook`` are top-level packages. Those are names that other
distributions may have too, so a wheel holds them below ``evenkeel``, and only this process finds them there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

_HERE = Path(__file__).parent


def run() -> NoReturn:
    """Run the command of this process' arguments and exit."""
    if (_HERE / "webhook").is_dir():
        sys.path.insert(0, str(_HERE))
    from webhook.cli import start  # noqa: PLC0415  # found only now

    start.run()
