"""One simulation of a cluster, which schedules and deletes pods, and loses, drains and adds nodes."""
