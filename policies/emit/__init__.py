"""SpreadPolicy documents as policies that the API server itself evaluates, and what is left out of them."""
