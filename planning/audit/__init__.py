"""Where the pods of a cluster are, and what would make them even again."""
