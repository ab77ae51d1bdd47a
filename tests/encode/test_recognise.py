"""What a column holds."""

import numpy as np
import pandas as pd
import pytest

from distpu.encode import TableEncoder

N = 60


def kind_of(name, values, **settings):
    rows = pd.DataFrame({"other": np.random.default_rng(0).normal(size=len(values)), name: values})
    found = {column.name: column for column in TableEncoder(**settings).fit(rows).columns_}
    return found[name].kind


@pytest.mark.parametrize("values", [[f"N{i // 2}A" for i in range(N)], [7 * (i // 2) for i in range(N)]])
def test_a_name_that_says_id_makes_an_id_of_values_that_mostly_differ(values):
    assert kind_of("Individual ID", values) == "id"
    assert kind_of("Individual ID", values, keep=("Individual ID",)) != "id"
    assert kind_of("paid", values) != "id"  # "id" must be a word of its own


def test_an_id_that_stands_for_many_rows_is_learnt_from():
    assert kind_of("customer_id", [f"c{i % 10}" for i in range(N)]) == "category"
    assert kind_of("customer_id", [i % 10 for i in range(N)]) == "number"
