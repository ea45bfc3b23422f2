"""Pods are scheduled one after another, perhaps after nodes went or came."""
