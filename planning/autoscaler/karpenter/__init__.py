"""Karpenter: the nodes that it adds for pending pods, which it chooses by its own scheduling simulation."""
