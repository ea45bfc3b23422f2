"""What a release publishes besides wheels: archives for people without pip, and what installs these."""
