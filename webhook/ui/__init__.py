"""The page: a server on loopback for one person, and the same page as a file that needs no server."""
