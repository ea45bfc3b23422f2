"""What vouches for Evenkeel: its certificate authority and its serving certificates."""
