"""The documents that configure Evenkeel, and what they say about one object."""
