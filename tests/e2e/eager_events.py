"""``evenkeel`` as a program whose Events say at once what is wrong."""

from webhook.cli.main import run
from webhook.skew import event_writer

if __name__ == "__main__":
    event_writer.HOLD_S = 0.0  # type: ignore[misc]  # a constant but here
    run()
