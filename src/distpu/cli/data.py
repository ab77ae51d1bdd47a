"""`distpu data`: the data sets and where they are."""

from __future__ import annotations

from ._options import DataRoot
from ._print import print_table


def data(data_root: DataRoot = None) -> None:
    """List the data sets and where they are.

    What is not here yet is fetched by the first fit, or the list says where to put it:

        distpu data --data-root ~/datasets
    """
    from .. import datasets

    rows = []
    for info in datasets.catalog(data_root):
        shape, numbers = "x".join(map(str, info.shape)), (str(info.train), str(info.test))
        rows.append((info.name, *numbers, shape, str(info.labelled), info.positive, info.where))
    print_table(["name", "train", "test", "a row", "labelled", "positive", "where"], rows, right=(1, 2, 4))
