"""A model behind HTTP: rows as JSON in, scores out. It needs the extra [serve]."""
