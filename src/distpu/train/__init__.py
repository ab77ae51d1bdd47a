"""The only training loop. This room knows no method and no scikit-learn."""
