"""Searches a method's settings without negatives. Each setting is judged by a PU metric on held-out PU rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .estimator import PUEstimator
from .files.run_folder import RunFolder
from .judge import FOLDS, Judge, check_scenario, check_scorer, rows_for_prior, told_to
from .methods import make, method_class
from .on_ray import check_pool, opened
from .params import Search, need
from .prior import PriorEstimator, estimated, is_number

TRIALS = 30  # if neither a number of trials nor a time is given
RANDOM = 8  # trials drawn at random before the sampler learns from them
FULL = 5  # trials judged in full before any is pruned
ENOUGH = 10  # trials judged in full before the importance of settings is told
ROUNDS = 100  # bootstrap samples of the gain
ROWS = 100_000  # most rows of which the scores of a trial are kept, for the gain

COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"


@dataclass(frozen=True)
class Trial:
    """Settings and what the judge said of them. Trial 0 has the default settings."""

    number: int
    settings: dict[str, Any]  # those that were searched; none in trial 0
    state: str  # "complete": judged on all folds; "pruned": judged on the first ones; "failed"
    values: list[float]  # the metric on the rows held out so far, after each fold
    error: float  # standard error of the last of them
    seconds: float
    why: str = ""  # of a failed trial

    @property
    def value(self) -> float:
        """The metric on all rows held out; -inf for a failed trial."""
        return self.values[-1] if self.values else -np.inf


@dataclass(frozen=True)
class Tuned:
    """The result of tune_settings."""

    method: str
    metric: str
    prior: float  # share of positives among the unlabelled rows, told to every trial
    trials: list[Trial]
    best: Trial  # of those judged in full
    gain: float  # what choosing the best of these settings gains over the default on rows not used for the choice
    error: float  # standard error of the gain
    importance: dict[str, float]  # share of the metric's variance that a setting explains; empty for few trials
    told: dict[str, Any]  # what every trial was told
    folder: Path | None

    @property
    def default(self) -> Trial:
        return self.trials[0]

    @property
    def worth(self) -> bool:
        """Whether the gain is larger than its standard error."""
        return self.gain > self.error

    @property
    def settings(self) -> dict[str, Any]:
        """The settings to take: the best ones if the gain is larger than its standard error, else none."""
        return self.best.settings if self.worth else {}

    def model(self) -> PUEstimator:
        """Return the method with the settings to take, not fitted."""
        return make(self.method, {**self.told, **self.settings})


def tune_settings(
    X: Any,
    y: Any,
    method: str = "bagging-pu",
    *,
    trials: int | None = None,
    minutes: float | None = None,
    metric: str = "pu_accuracy",
    scenario: str = "case-control",
    prior: Any = "auto",
    settings: dict[str, Any] | None = None,
    pos_label: Any = None,
    random_state: int = 0,
    k: int = FOLDS,
    folder: str | Path | None = None,
    report: Callable[[Trial, Trial], None] | None = None,
    pool: str = "local",
) -> Tuned:
    """Search the settings of a method by a PU metric on held-out PU rows. No true label is needed.

    trials    number of settings to try, the default ones included; 30 if neither trials nor minutes is given
    minutes   no trial begins after so many minutes, those before a kill included
    metric    one of the names of `make_pu_scorer`
    scenario  "case-control": the metric is that among rows like the unlabelled ones; "single-set": among all rows
    prior     share of positives among the unlabelled rows, as every method takes it; estimated once
    settings  told to every trial; they are not searched
    k         folds: each trial trains k models, and each row is judged by the model that has not seen it
    folder    the trials are stored there; after a kill, or for more trials, call the same function again
    report    called after each trial with the trial and the best one so far
    pool      "local": one fold after the other; "ray": the folds of a trial side by side on a Ray cluster

    Every method has its search ranges in its fields (`param(..., search=...)`). All trials get the same prior, the same
    folds and the same seed. A trial is pruned after a fold if its metric is below the median of the trials so far. A
    search that was killed and continued gives the same trials as one that was not; so does one on Ray, because each
    trial is chosen by what the trials before it gave.
    """
    optuna = need("optuna", "tune", "tuning")
    check_pool(pool)
    check_scorer(metric)
    check_scenario(scenario)
    if method_class(method).supervised:
        raise ValueError(f"{method} is no PU method: it takes every unlabelled row for a negative; name another method")
    trials = TRIALS if trials is None and minutes is None else trials
    if trials is not None and trials < 1:
        raise ValueError(f"trials={trials} must be at least 1")
    if minutes is not None and not minutes > 0:
        raise ValueError(f"minutes={minutes} must be above 0")
    told = {"progress": False, **(settings or {})}
    space = search_space(method, told)
    if not space:
        left = "left to search; give fewer settings" if search_space(method) else "to search; name another method"
        raise ValueError(f"{method} has no setting {left}, or fit it as it is")
    first: Any = make(method, {"prior": prior, "random_state": random_state, "pos_label": pos_label, **told})
    rows, s, _ = first._check_data(X, y)
    learner = first._resolved(rows)
    config = learner._config(rows, s, None, {}, random_state)
    extra = {"search_metric": metric, "search_scenario": scenario, "search_folds": k, "search_ranges": str(space)}
    config |= {"method": f"tune {method}", "params": {**config["params"], **extra}}
    run = None if folder is None else RunFolder(folder)
    with run.opened(config) if run else nullcontext(), opened(pool, "tuning on Ray") as nodes:
        share = _prior(rows_for_prior(X, s, prior, told.get("encode")), s, prior, run)
        told = {**told_to(method, share, random_state), **told}
        judge = Judge.of(X, s, share, k, random_state, metric, scenario)
        search = _Search(optuna, method, space, told, judge, nodes, _values(learner, space), random_state, run)
        spent = sum(trial.seconds for trial in search.trials)
        while not (trials and len(search.trials) >= trials) and not (minutes and spent >= 60 * minutes):
            trial = search.next()
            spent += trial.seconds
            if report:
                report(trial, search.best)
        return search.ended(prior, pos_label)


def search_space(method: str, told: Iterable[str] = ()) -> dict[str, Search]:
    """Return where the settings of a method are searched; without those that are told.

    The settings of a wrapper's default classifier are named `estimator__NAME`.
    """
    cls: Any = method_class(method)
    space = {f.name: f.metadata["search"] for f in fields(cls) if "search" in f.metadata}
    if "estimator" not in told:
        space |= {f"estimator__{name}": where for name, where in getattr(cls, "search_inside", {}).items()}
    return {name: where for name, where in space.items() if name not in told}


# ------------------------------------------------------------------ the search


class _Search:
    """The trials so far and the next one. All of its state is in the trials: a killed search continues alike."""

    def __init__(
        self,
        optuna: Any,
        method: str,
        space: dict[str, Search],
        told: dict[str, Any],
        judge: Judge,
        nodes: Any,
        default: dict[str, Any],
        seed: int,
        folder: RunFolder | None,
    ):
        self.optuna, self.method, self.told = optuna, method, told
        self.judge, self.seed, self.folder = judge, seed, folder
        self.nodes, self.shared = nodes, nodes.share(judge)
        self.ranges = {name: _range(optuna, where) for name, where in space.items()}
        self.at_default = {name: value for name, value in default.items() if _holds(self.ranges[name], value)}
        self.kept = _sample(judge.s, seed)
        self.scores: dict[int, np.ndarray] = {}
        self.trials = list(self._stored()) if folder else []
        if folder:
            folder.rewrite_trials(asdict(trial) for trial in self.trials)  # a kill may have torn the last line

    def _stored(self) -> Iterator[Trial]:
        """Yield the trials of the folder, up to the first that is damaged."""
        assert self.folder is not None
        for number, row in enumerate(self.folder.trials()):
            if set(row) != {f.name for f in fields(Trial)} or row["number"] != number:
                return
            trial = Trial(**row)
            if trial.state == COMPLETE:
                scores = self.folder.trial_scores(number)
                if scores is None or scores.shape != self.kept.shape:
                    return
                self.scores[number] = scores
            yield trial

    @property
    def complete(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.state == COMPLETE]

    @property
    def best(self) -> Trial:
        return max(self.complete, key=lambda trial: trial.value)  # of equals the first, so the default

    def next(self) -> Trial:
        """Judge the next settings, and store what the judge said."""
        number, start = len(self.trials), time.perf_counter()
        study = self._study(number)
        asked = study.ask(self.ranges)
        settings = {name: _short(value) for name, value in asked.params.items()} if number else {}
        values: list[float] = []
        error, state, why, z = 0.0, COMPLETE, "", np.empty(0)
        try:
            model = partial(make, self.method, {**self.told, **settings})
            for fold, z in enumerate(self.judge.scores(model, self.nodes, self.shared), 1):
                found = self.judge.value(z)
                values, error = [*values, float(found)], found.error
                asked.report(values[-1], fold)
                if number and fold < self.judge.folds and asked.should_prune():
                    state = PRUNED
                    break
        except (ValueError, FloatingPointError) as reason:
            if not number:
                raise ValueError(f"{self.method} cannot be fitted with its default settings: {reason}") from reason
            values, state, why = [], FAILED, " ".join(str(reason).split())
        if state == COMPLETE:
            self.scores[number] = z[self.kept].astype(np.float32)
        trial = Trial(number, settings, state, values, error, time.perf_counter() - start, why)
        if self.folder:
            if state == COMPLETE:
                self.folder.keep_trial_scores(number, self.scores[number])
            self.folder.append_trial(asdict(trial))  # last: a line says that the scores are there
        self.trials.append(trial)
        return trial

    def _study(self, number: int) -> Any:
        """Return Optuna's study of the trials so far, with a sampler whose seed depends on the trial's number alone."""
        optuna = self.optuna
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=RANDOM)
        with _quiet(optuna):
            pruner = optuna.pruners.MedianPruner(n_startup_trials=FULL, n_warmup_steps=0)
            study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        for trial in self.trials:
            study.add_trial(self._as_optunas(trial))
        return study

    def _as_optunas(self, trial: Trial) -> Any:
        params = trial.settings if trial.number else self.at_default
        states = self.optuna.trial.TrialState
        return self.optuna.create_trial(
            params=params,
            distributions={name: self.ranges[name] for name in params},
            value=trial.value if trial.state == COMPLETE else None,
            state={COMPLETE: states.COMPLETE, PRUNED: states.PRUNED, FAILED: states.FAIL}[trial.state],
            intermediate_values=dict(enumerate(trial.values, 1)),
        )

    # ------------------------------------------------------------- what it gave

    def ended(self, prior: Any, pos_label: Any) -> Tuned:
        judge, best = self.judge, self.best
        scores = {trial.number: self.scores[trial.number] for trial in self.complete}
        gain, error = honest_gain(judge, judge.s[self.kept], scores, best.number, self.seed)
        told = {name: value for name, value in self.told.items() if name != "progress"}
        told |= {"prior": prior} | ({} if pos_label is None else {"pos_label": pos_label})
        place = self.folder.path if self.folder else None
        return Tuned(
            self.method, judge.metric, judge.prior, self.trials, best, gain, error, self._importance(), told, place
        )

    def _importance(self) -> dict[str, float]:
        if len(self.complete) < ENOUGH:
            return {}
        importance = self.optuna.importance
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of values of a choice that were tried once
            try:
                evaluator = importance.FanovaImportanceEvaluator(seed=self.seed)
                found = importance.get_param_importances(self._study(0), evaluator=evaluator)
            except RuntimeError:  # all trials have the same value
                return {}
        return {name: float(share) for name, share in found.items()}


def honest_gain(
    judge: Judge, s: np.ndarray, scores: dict[int, np.ndarray], best: int, seed: int
) -> tuple[float, float]:
    """Return the gain over the default (trial 0) that is left when the choice is paid for, and its standard error.

    The best of many settings looks better on the rows that chose it than on other rows. So the choice is made again on
    bootstrap samples of the rows, and what it gains is measured on the rows that a sample left out. The error is that
    of drawing the rows: the deviation over the samples of the difference between the best and the default.
    """
    if best == 0:
        return 0.0, 0.0
    random, P, U = np.random.default_rng(seed), np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    numbers, gains, seen = list(scores), [], []
    for _ in range(ROUNDS):
        drawn = np.concatenate([random.choice(P, len(P)), random.choice(U, len(U))])
        left = np.setdiff1d(np.arange(len(s)), drawn)
        if not 0 < s[left].sum() < len(left):
            continue
        values = [float(judge.value(scores[number][drawn], s[drawn])) for number in numbers]
        seen.append(values[numbers.index(best)] - values[0])
        chosen = scores[numbers[int(np.argmax(values))]]
        gains.append(float(judge.value(chosen[left], s[left])) - float(judge.value(scores[0][left], s[left])))
    return (float(np.mean(gains)), float(np.std(seen))) if gains else (0.0, np.inf)


# ------------------------------------------------------------------------ parts


def _prior(X: Any, s: np.ndarray, told: Any, folder: RunFolder | None) -> float:
    """Return the prior as a number: told, kept in the folder, or estimated."""
    if is_number(told):
        return float(told)
    known = folder.prior() if folder else None
    if known is None:
        found = estimated(PriorEstimator(told, bootstrap=0) if isinstance(told, str) else told, X, s)
        known = found.to_json()
        if folder:
            folder.keep_prior(known)
    return float(known["prior"])


def _values(learner: Any, space: dict[str, Search]) -> dict[str, Any]:
    """Return the default values of the settings that are searched."""
    inside = learner._default().get_params() if getattr(learner, "search_inside", None) else {}
    return {
        name: inside[name[11:]] if name.startswith("estimator__") else getattr(learner, name, None) for name in space
    }


def _range(optuna: Any, where: Search) -> Any:
    """Return Optuna's distribution of a search range."""
    if isinstance(where, list):
        return optuna.distributions.CategoricalDistribution(where)
    low, high, log = where[0], where[1], where[2:] == ("log",)
    whole = isinstance(low, int) and isinstance(high, int)
    kind = optuna.distributions.IntDistribution if whole else optuna.distributions.FloatDistribution
    return kind(low, high, log=log)


def _holds(where: Any, value: Any) -> bool:
    """Return whether a value lies in a range. A default may lie outside of it, such as None or 0 of a logarithm."""
    if hasattr(where, "choices"):
        return value in where.choices
    return isinstance(value, (int, float)) and where.low <= value <= where.high


def _short(value: Any) -> Any:
    """Round a number to three digits, so that the command for it can be read."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _sample(s: np.ndarray, seed: int) -> np.ndarray:
    """Return at most ROWS row numbers: labelled rows first, at most half; then unlabelled ones."""
    if len(s) <= ROWS:
        return np.arange(len(s))
    order = np.random.default_rng(seed).permutation(len(s))
    labelled = order[s[order] == 1][: ROWS // 2]
    return np.sort(np.append(labelled, order[s[order] == 0][: ROWS - len(labelled)]))


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Optuna announces each study on stderr."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
