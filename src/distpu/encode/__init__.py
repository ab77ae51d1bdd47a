"""Tables as people have them -> numbers. What is learnt for it is stored as JSON and arrays, without pickle."""

from .frames import is_frame
from .rows import Encoded
from .table import Column, TableEncoder, encoded

__all__ = ["Column", "Encoded", "TableEncoder", "encoded", "is_frame"]
