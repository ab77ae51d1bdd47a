"""Damage to files, one bit at a time."""


def flips(content, step=1):
    """Every step-th bit flipped, one at a time."""
    for at in range(0, 8 * len(content), step):
        i, bit = divmod(at, 8)
        yield content[:i] + bytes([content[i] ^ 1 << bit]) + content[i + 1 :]
