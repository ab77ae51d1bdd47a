"""What outlives a process: files written whole or not at all, locks, run folders, tensors."""
