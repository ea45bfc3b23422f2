"""Where the next pod of a workload may go and why, with the scores of each node."""
