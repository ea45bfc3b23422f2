"""Spread constraints that documents of other policy engines inject."""
