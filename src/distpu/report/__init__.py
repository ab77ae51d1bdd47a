"""A run folder becomes pictures."""
