"""Evenkeel's CA and serving certificates: create, read, check and rotate them."""
