"""The commands of ``evenkeel``, one module each."""
