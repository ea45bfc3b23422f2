"""The cluster's default constraints: where they are written and which pods get them."""
