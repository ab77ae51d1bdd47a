"""What outlives a process: files written whole or not at all, one lock, run folders, tensors, models, results."""
