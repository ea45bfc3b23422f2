"""gunicorn with uvicorn's worker: settings, and what a connection needs beside what both have."""
