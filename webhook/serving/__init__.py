"""How Evenkeel listens: gunicorn, its worker and the connections of slow and hostile clients."""
