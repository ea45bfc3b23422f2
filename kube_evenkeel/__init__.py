"""The one name of Evenkeel in site-packages: its packages stand below it once it is installed."""
