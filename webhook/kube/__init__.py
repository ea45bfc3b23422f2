"""The API server: its client, lists, informers and snapshots."""
