"""Comparisons and the paper: TOML files -> runs -> lines -> tables and figures. The library never imports this room."""
