"""What prior= may be, in every method and on the command line."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import distpu
from distpu import METHODS, PriorEstimator
from distpu.prior import AUTO, PRIORS, Estimate, check_prior, estimated, estimator, is_number, scores, share_of
from small import small

OWN = ["elkan-noto", "two-step", "lbe", "tedn", "rank-pruning"]  # these find their own prior where none is told


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(scores, "TREES", 20)
    monkeypatch.setattr(estimator, "_recent", estimator.OrderedDict())


class Fixed(BaseEstimator):
    """An estimator of somebody else: it has fit and prior_ and nothing else."""

    def __init__(self, share=0.35):
        self.share = share

    def fit(self, X, y):
        assert X.shape[0] == len(y)
        self.prior_ = self.share
        return self


def test_what_is_allowed():
    for good in (0.3, np.float32(0.3), "auto", *PRIORS, PriorEstimator(), Fixed()):
        check_prior(good)
    for bad, message in [
        (1.5, "prior=1.5 must lie strictly between 0 and 1"),
        ("dedpull", "prior='dedpull' must be .* did you mean 'dedpul'"),
        ("Auto", "did you mean 'auto'"),
        (None, "prior=None must be a number"),
        (True, "prior=True must be a number"),
        (PriorEstimator, "such as PriorEstimator"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_prior(bad)
    assert is_number(np.float64(0.2)) and not is_number(True) and not is_number("auto")


def test_share_of(toy):
    X, s, _ = toy
    assert share_of(0.2, X, s) == 0.2
    assert share_of("auto", X, s) == share_of(AUTO, X, s) == distpu.estimate_prior(X, s)
    assert share_of("dedpul", X, s) == distpu.estimate_prior(X, s, "dedpul")
    assert share_of(Fixed(), X, s) == 0.35


def short(name, **settings):
    epochs = {
        key: 2 if key == "trend_epochs" else 1 for key in METHODS[name].__dataclass_fields__ if key.endswith("epochs")
    }
    return small(name, **epochs, **settings)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_a_name_or_an_object(name, toy, monkeypatch):
    X, s, _ = toy
    found, asked = Estimate(0.3, (0.2, 0.45), 0.5, "dedpul", "", 0.9), []
    monkeypatch.setattr("distpu.estimator.estimated", lambda prior, *_: asked.append(prior) or found)
    monkeypatch.setattr("distpu.methods._wrapper.estimated", lambda prior, *_: asked.append(prior) or found)
    monkeypatch.setattr("distpu.methods._table.estimated_from_scores", lambda prior, *_: asked.append(prior) or found)
    told = Fixed() if name in ("dist-pu", "two-step") else "dedpul"
    fitted = short(name, prior=told).fit(X, s)
    assert asked == [told] and fitted.prior_interval_ == (0.2, 0.45) and fitted.prior_estimate_ == found
    assert fitted.prior_ == 0.3 or name in ("tedn", "rank-pruning")  # these two only start from it, or ignore it


@pytest.mark.parametrize("name", ["bagging-pu", *OWN])
def test_no_interval_where_the_prior_is_given_or_the_methods_own(name, toy):
    X, s, _ = toy
    fitted = short(name, **({"prior": 0.4} if name == "bagging-pu" else {})).fit(X, s)
    assert fitted.prior_interval_ is None and fitted.prior_estimate_ is None and 0 < fitted.prior_ <= 1


@pytest.mark.parametrize("name", ["dist-pu", "bagging-pu"])
def test_the_interval_is_stored(name, toy, tmp_path):
    X, s, _ = toy
    fitted = short(name, prior="dedpul", network="mlp").fit(X, s, folder=tmp_path / "run")
    low, high = fitted.prior_interval_
    assert low <= fitted.prior_ <= high and fitted.prior_estimate_.name == "dedpul"
    again = short(name, prior="dedpul", network="mlp").fit(X, s, folder=tmp_path / "run")  # restored
    loaded = distpu.load(tmp_path / "run")
    assert again.prior_estimate_ == loaded.prior_estimate_ == fitted.prior_estimate_
    assert loaded.prior_interval_ == fitted.prior_interval_ and loaded.prior == "dedpul"
    with pytest.raises(ValueError, match="prior"):
        short(name, prior="scott", network="mlp").fit(X, s, folder=tmp_path / "run")


@pytest.mark.parametrize("told", [PriorEstimator("dedpul", bootstrap=3), Fixed()], ids=["ours", "another's"])
def test_a_model_whose_prior_an_object_estimated_can_be_loaded(told, toy, tmp_path):
    X, s, _ = toy
    fitted = small("bagging-pu", prior=told).fit(X, s)
    loaded = distpu.load(fitted.save(tmp_path / "model"))
    assert loaded.prior == loaded.prior_ == fitted.prior_
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_an_object_that_sets_no_share_is_refused(toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="prior=Fixed has prior_=7 after fit; .* a share from 0 to 1"):
        estimated(Fixed(7), X, s)
    assert estimated(Fixed(1.0), X, s).prior < 1  # a method needs a share strictly inside
    assert estimated(Fixed(), X, s).interval is None


def test_an_object_leaves_its_parameters_alone(toy):
    X, s, _ = toy
    told = PriorEstimator("bbe", bootstrap=2)
    small("bagging-pu", prior=told).fit(X, s)
    assert not hasattr(told, "prior_")


def test_texts_take_the_methods_own_scores(toy):
    X, s, _ = toy
    words = pd.DataFrame({"a": np.where(X[:, 0] > 1, "high", "low"), "b": X[:, 1].round(1).astype(str)})

    class Coded(DecisionTreeClassifier):
        def fit(self, X, y):
            return super().fit(self._codes(X), y)

        def predict_proba(self, X):
            return super().predict_proba(self._codes(X))

        def _codes(self, X):
            return np.column_stack([X["a"] == "high", X["b"].astype(float)])

    settings = dict(n_estimators=5, random_state=0, encode=False)  # the classifier reads the words itself
    for name in ("dedpul", PriorEstimator("tice", bootstrap=2)):
        fitted = distpu.BaggingPU(Coded(max_depth=3), prior=name, **settings).fit(words, s)
        assert fitted.prior_interval_[0] <= fitted.prior_ <= fitted.prior_interval_[1]
    fitted = distpu.BaggingPU(Coded(max_depth=3), prior=Fixed(), **settings).fit(words, s)
    assert fitted.prior_ == 0.35  # an object without fit_scores gets the scores as one column


@pytest.mark.parametrize("name", ["elkan-noto", "bagging-pu", "two-step"])
@pytest.mark.parametrize("told", ["auto", "bbe"])
def test_wrappers_find_the_same_in_every_container(name, told, toy):
    X, s, _ = toy
    array = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32)
    make = lambda: small(name, estimator=RandomForestClassifier(10, max_depth=4), prior=told)  # noqa: E731
    expected = make().fit(array, s).prior_
    assert 0.2 < expected < 0.7  # 0.4 is true
    frame = pd.DataFrame(array, columns=list("abcdef"))
    for rows, labels in ((frame, pd.Series(s)), (array.tolist(), s.tolist()), (csr_matrix(array), s)):
        assert make().fit(rows, labels).prior_ == pytest.approx(expected, abs=0.05 if told == "auto" else 1e-12)
    blank = array.copy()
    blank[5, 2] = np.nan
    assert make().fit(blank, s).prior_ == pytest.approx(expected, abs=0.15)
