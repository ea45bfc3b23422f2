"""The HTTP side: the ASGI application, its limits, who is authorized, and the Flask views."""
