"""Draws figures from run folders."""
