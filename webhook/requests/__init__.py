"""The requests of ``/v1``, the page, ``--jsonl`` and the corpus: each is declared once, read and answered."""
