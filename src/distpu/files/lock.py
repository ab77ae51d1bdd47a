"""One process at a time."""

from __future__ import annotations

from pathlib import Path


def unwritable(folder: Path, error: OSError) -> ValueError:
    return ValueError(f"{folder} cannot be written ({error.strerror}); name another folder")


class lock:
    """One process per folder; others are refused, or wait. The system drops it with the process, also after kill -9."""

    def __init__(self, folder: Path, wait: bool = False):
        self.folder, self.wait = folder, wait

    def __enter__(self) -> None:
        try:
            self.file = open(self.folder / ".lock", "w")
        except OSError as error:
            raise unwritable(self.folder, error) from None
        try:
            import fcntl
        except ImportError:  # Windows has no flock; two trainings in one folder are then the user's care
            return
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self.file.close()
            raise ValueError(
                f"{self.folder} is being trained by another process; wait for it or name another"
            ) from None

    def __exit__(self, *_: object) -> None:
        self.file.close()
