"""Rollouts, as the controllers and the scheduler play them."""
