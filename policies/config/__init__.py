"""The documents that configure Evenkeel, and what they mean for one object."""
