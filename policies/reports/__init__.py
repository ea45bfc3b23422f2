"""What all texts share: how they are laid out."""
