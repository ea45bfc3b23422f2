"""What the texts of several questions say alike."""
