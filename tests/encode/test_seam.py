"""A mixed frame goes through every method: fit, predict, save, load, in pieces."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import distpu
from distpu import METHODS
from distpu.encode import TableEncoder
from small import NETWORKS, small, small_net


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_a_mixed_frame(name, table, tmp_path):
    X, s, y = table
    fitted = small(name, prior=0.3).fit(X, s)
    assert fitted.n_features_in_ == 11 and fitted.feature_names_in_.tolist() == list(X)
    assert fitted.encoder_.blanks == ("fill" if name in NETWORKS else "keep")
    assert roc_auc_score(y, fitted.decision_function(X)) > 0.55
    loaded = distpu.load(fitted.save(tmp_path / "run"), **({"network": small_net} if name in NETWORKS else {}))
    new = X[:60][list(X)[::-1]].assign(more=1)  # in another order, beside another column
    np.testing.assert_allclose(loaded.decision_function(new), fitted.decision_function(X[:60]), atol=1e-12)


def test_a_frame_of_numbers_gives_the_array_s_results(toy):
    X, s, _ = toy
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for name in ("nnpu", "blend-pu", "elkan-noto"):
        plain, framed = small(name, prior=0.4).fit(X, s), small(name, prior=0.4).fit(frame, s)
        assert plain.encoder_ is None and framed.encoder_.plain_
        np.testing.assert_allclose(framed.decision_function(frame), plain.decision_function(X), atol=1e-12)
        spelt = frame.map(repr)  # the same numbers as texts
        np.testing.assert_array_equal(framed.decision_function(spelt), framed.decision_function(frame))


def test_encode_false_and_an_encoder_of_one_s_own(table):
    X, s, _ = table
    with pytest.raises(ValueError, match="holds texts, where numbers are wanted"):
        small("blend-pu", encode=False).fit(X, s)
    own = TableEncoder(drop=["note"], keep=["customer_id"])
    fitted = small("blend-pu", encode=own).fit(X, s)
    assert not hasattr(own, "columns_")
    kinds = {c.name: c.kind for c in fitted.encoder_.columns_}
    assert (kinds["note"], kinds["customer_id"]) == ("dropped", "category")
    with pytest.raises(ValueError, match="encode='yes' must be 'auto', False or a TableEncoder"):
        small("blend-pu", encode="yes").fit(X, s)


def test_polars_pyarrow_and_pandas_agree(table):
    X, s, _ = table
    X = X.drop(columns=["empty"])
    fitted = small("blend-pu").fit(X, s)
    want = fitted.encoder_.transform(X)
    for other in (pa.Table.from_pandas(X), pl.DataFrame({c: X[c].where(X[c].notna(), None).tolist() for c in X})):
        np.testing.assert_array_equal(fitted.encoder_.transform(other), want)
        assert small("blend-pu").fit(other, s).encoder_.width_ == fitted.encoder_.width_


def test_a_column_that_is_gone_at_predict_is_one_line(table):
    X, s, _ = table
    fitted = small("blend-pu").fit(X, s)
    with pytest.raises(ValueError, match="X has no column 'city'; did you mean 'citty'.; the model was trained on it"):
        fitted.predict(X.rename(columns={"city": "citty"}))
    fitted.predict(X.drop(columns=["customer_id", "empty"]))  # left out in training
