"""The main job in one minute: a server, a cluster from a file, and reviews as an API server sends them."""
