"""What one client may cost all others: generated families of requests, and the bounds they are held to."""
