import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from distpu import SEM
from distpu.methods.s_em import SpyEM, Words, expected_error, naive_bayes

COUNTS = csr_matrix([[2, 1], [3, 0], [1, 2], [0, 3], [2, 0]], dtype=float)  # P, P, U, U, U


def theta(ratio):
    """theta_P from the log ratio of two words: theta_P / theta_N sums to one on both sides."""
    a, b = np.exp(ratio)
    t_n = (1 - b) / (a - b)
    return (a * t_n, 1 - a * t_n), (t_n, 1 - t_n)


def test_naive_bayes_and_one_round_of_em_by_hand():
    q, weight = np.array([1.0, 1, 0, 0, 0]), np.ones(5)
    word, bias = naive_bayes(COUNTS, q, weight)
    np.testing.assert_allclose(theta(word), [(0.75, 0.25), (0.4, 0.6)])
    q[2:] = expit(COUNTS @ word + bias)[2:]
    np.testing.assert_allclose(q[2:], [0.1783166904, 0.0460066250, 0.7009345794], atol=1e-9)
    word, bias = naive_bayes(COUNTS, q, weight)
    np.testing.assert_allclose(theta(word), [(0.7523877821, 0.2476122179), (0.3053331261, 0.6946668739)], atol=1e-9)
    expected = [0.3062430092, 0.0600211826, 0.8954108373]
    np.testing.assert_allclose(expit(COUNTS @ word + bias)[2:], expected, atol=1e-9)


def test_the_stop_rule_by_hand():
    first, second = expected_error(0.38, 0.10, 0.4), expected_error(0.36, 0.13, 0.4)
    assert first == pytest.approx(0.06) and second == pytest.approx(0.064)  # the error rises: the first is kept


def test_whole_numbers_are_counts_and_others_are_cut_into_bins():
    assert Words("auto", 4).fit(np.array([[0.0, 2.0], [1.0, np.nan]])).edges is None
    assert Words("auto", 4).fit(csr_matrix([[0.3, 0], [0, 0.7]])).edges is None
    x = np.c_[np.linspace(-1, 1, 40), np.r_[np.nan, np.linspace(5, 9, 39)]]
    n = Words("auto", 4).fit(x)(x).toarray()
    assert n.shape == (40, 8) and n[0].sum() == 1 and (n[1:].sum(1) == 2).all()  # a blank is no word
    assert n[:, :4].sum(0).tolist() == [10, 10, 10, 10]


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="counts=True, but X holds -2; counts are at least 0; use counts=False"):
        SEM(counts=True, prior=0.4).fit(np.array([[1.0], [-2], [3], [0], [2], [5]]), [1, 1, 0, 0, 0, 0])


def documents(rows, random):
    """Counts of 30 words; positives have more of the first ten."""
    y = random.random(rows) < 0.4
    rates = np.where(y[:, None], np.r_[np.full(10, 0.6), np.full(20, 0.25)], np.r_[np.full(10, 0.2), np.full(20, 0.45)])
    return csr_matrix(random.poisson(rates).astype(float)), y


def test_em_with_free_rows_ranks_better_than_naive_bayes_of_p_against_u():
    random = np.random.default_rng(0)
    x, y = documents(600, random)
    s = np.zeros(600, dtype=int)
    s[np.flatnonzero(y)[:12]] = 1
    word, bias = naive_bayes(x, s.astype(float), np.ones(600))
    plain = roc_auc_score(y[s == 0], (x @ word)[s == 0])
    fitted = SpyEM(Words("auto", 5), 0.2, 0.15).fit(x, s, 0.4, np.random.RandomState(0))
    assert roc_auc_score(y[s == 0], fitted.scores(x)[s == 0]) > plain + 0.03


def test_a_sparse_table_and_the_same_array_give_the_same_scores():
    x, y = documents(300, np.random.default_rng(1))
    s = (y & (np.arange(300) < 120)).astype(int)
    a = SEM(prior=0.3, folds=2, random_state=0).fit(x, s)
    b = SEM(prior=0.3, folds=2, random_state=0).fit(x.toarray(), s)
    np.testing.assert_allclose(a.decision_function(x), b.decision_function(x.toarray()))
    assert ((a.decision_function(x) >= 0) == y)[s == 0].mean() > 0.85
