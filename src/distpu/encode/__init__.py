"""Tables as people have them -> numbers. What is learnt for it is stored as JSON and arrays, without pickle."""

from .frames import is_frame
from .table import Column, TableEncoder, encoded

__all__ = ["Column", "TableEncoder", "encoded", "is_frame"]
