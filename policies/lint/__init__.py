"""Rules over the objects of a repository, and fixes of what they find."""
