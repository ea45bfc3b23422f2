"""How controllers replace and delete pods while the scheduler binds others."""
