"""The cost of one client for all others: generated families of requests, and the bounds they are held to."""
