"""``python -m kube_evenkeel``: the command, where no script is on the PATH."""

from kube_evenkeel.start import run

run()
