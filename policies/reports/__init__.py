"""Answers as text or as data: a folder for each command, with a module for each output format."""
