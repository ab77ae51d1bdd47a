"""The one lock of the project: a process holds a folder; others wait or are refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LOCK = ".lock"
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}  # as some network disks say


def unwritable(folder: Path, error: OSError) -> ValueError:
    return ValueError(f"{folder} cannot be written ({error.strerror}); name another folder")


class lock:
    """Hold a folder while the `with` block runs. The system drops the lock with the process, also after kill -9.

    wait        wait until the folder is free; otherwise a held folder is refused
    leave_file  lock FOLDER/.lock, which stays there: it works on network disks too. False locks the folder itself and
                leaves nothing behind

    Windows and some disks have no such locks: there, keeping processes apart is left to the user.
    """

    def __init__(self, folder: Path, wait: bool = False, leave_file: bool = True):
        self.folder, self.wait, self.leave_file = folder, wait, leave_file

    def __enter__(self) -> None:
        self.handle: int | None = None
        try:
            import fcntl
        except ImportError:  # Windows
            return
        self.handle = self._open()
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self._close()
            raise ValueError(
                f"{self.folder} is being trained by another process; wait for it or name another"
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                self._close()
                raise unwritable(self.folder, error) from None
        except BaseException:  # Ctrl-C while waiting
            self._close()
            raise

    def _open(self) -> int:
        if not self.leave_file:
            return os.open(self.folder, os.O_RDONLY)
        path = self.folder / LOCK
        try:
            # O_NOFOLLOW: a link would create or lock a file outside the folder. O_NONBLOCK: a pipe must not block.
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            if path.is_symlink():
                raise ValueError(f"{path} is a link, which distpu does not follow; remove it") from None
            raise unwritable(self.folder, error) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise ValueError(f"{path} is not a plain file; remove it")
        return handle

    def _close(self) -> None:
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def __exit__(self, *_: object) -> None:
        self._close()
