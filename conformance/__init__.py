"""The conformance corpus as package data: ``evenkeel conformance`` finds it wherever it is installed."""
