"""``python -m evenkeel``: the command, where no script is on the PATH."""

from evenkeel.start import run

run()
