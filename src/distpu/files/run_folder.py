"""RunFolder: the files of one run. No other room spells their names. This module loads no torch."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import atomic
from .config import CONFIG_RULES, differences
from .fitted import Fitted, is_estimate
from .lock import LOCK, lock, unwritable
from .log import Json, log_lines, read_log
from .scores import cell
from .trials import Trials

if TYPE_CHECKING:
    import numpy as np

    from .tensors import Tensors


def _is_epoch(row: Json) -> bool:
    stage, epoch, share = (row.get(key) for key in ("stage", "epoch", "predicted_prior"))
    return isinstance(stage, str) and type(epoch) is int and isinstance(share, (int, float))


class RunFolder(Trials):
    """The folder of one run.

    config.json     method, parameters, data, seed and versions; written first
    metrics.jsonl   a line per epoch
    prior.json      the estimated prior: a resumed run does not estimate it again
    seconds.json    seconds of training up to the newest checkpoint
    stage-NAME.safetensors, stage-NAME.before.safetensors
                    the newest checkpoint of a stage and the one before it; removed when the run is finished
    part-NUMBER.skops
                    a classifier that took long, for a resume; removed when the run is finished
    model.safetensors or model.skops, model.json
                    the network or the classifiers, and what `predict` needs beside them
    encoder.json, encoder.safetensors
                    of a data frame: how its columns become numbers; the second file only where a column needs arrays
    scores.npz, result.json
                    of a run with known true labels: scores of the training rows, test metrics
    scores.csv      of a run on a user's own table: the unlabelled rows, likeliest positives first (up to version 0.1:
                    ranked.csv)
    scores.parquet  of such a run on a table that is too large to be held: all unlabelled rows in the order of the
                    table; scores.csv has the likeliest ones alone
    report.json, report.html
                    of such a run: every fact of the page, and the page
    trials.jsonl, trial-NUMBER.npz
                    of a search for settings: a line per trial, and the held-out scores of a trial judged in full
    done            empty; written last: without it the run is not finished
    .lock           held by the process that trains here
    """

    CONFIG, LOG, PRIOR, SECONDS = "config.json", "metrics.jsonl", "prior.json", "seconds.json"
    WEIGHTS, MODELS, MODEL = "model.safetensors", "model.skops", "model.json"
    ENCODER, ENCODER_ARRAYS = "encoder.json", "encoder.safetensors"
    SCORES, RESULT, RANKED, DONE = "scores.npz", "result.json", "scores.csv", "done"
    SCORED = "scores.parquet"
    FACTS, PAGE, BROKEN = "report.json", "report.html", "broken.csv"
    NAMES = frozenset({CONFIG, LOG, PRIOR, SECONDS, WEIGHTS, MODELS, MODEL, SCORES, RESULT, RANKED, SCORED, FACTS, PAGE,
                       Trials.TRIALS, BROKEN, ENCODER, ENCODER_ARRAYS, "ranked.csv", DONE, LOCK})  # fmt: skip

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        return (self.path / self.CONFIG).exists()

    @property
    def finished(self) -> bool:
        return (self.path / self.DONE).exists()

    def check_finished(self) -> None:
        """Refuse a path that is no run folder, and a run that is not finished."""
        path = self.path
        if not self.exists:
            what = "is a file, not" if path.is_file() else "is not" if path.exists() else "does not exist; name"
            why = f" (it holds no {self.CONFIG})" if path.is_dir() else ""
            raise FileNotFoundError(f"{path} {what} a run folder{why}, such as distpu fit writes")
        if not self.finished:
            raise ValueError(f"{path} is not finished; run the same fit again, and it continues where it stopped")

    @classmethod
    def owns(cls, name: str) -> bool:
        """Whether a file of this name belongs to a run."""
        numbered = r"stage-.+\.safetensors|part-\d+\.skops|trial-\d+\.npz"
        return name in cls.NAMES or re.fullmatch(numbered, name) is not None

    # ----------------------------------------------------------------- open

    @contextmanager
    def opened(self, config: Json) -> Iterator[tuple[Json, bool]]:
        """Make the folder, or take the one that is there, and hold it: (its config, whether the run is finished).

        A folder with other parameters or other data is refused, with what differs, once it holds something learned.
        """
        folder = self.path
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file; name a folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        others = [p.name for p in folder.iterdir() if p.name != LOCK and atomic.left_over(p.name) != self.CONFIG]
        if others and not os.path.lexists(folder / self.CONFIG):
            raise ValueError(f"{folder} is not empty and is not a run folder (no {self.CONFIG}); name a new folder")
        if self.exists and self.finished:  # it is only read, so that its disk may be read-only
            self._refuse_links()
            there = self._same(config)
            if self._left_overs():
                with self.answering():
                    pass
            yield there or config, True
            return
        with lock(folder):
            self._refuse_links()
            there = self._same(config) if self.exists else None
            if there is None or not self.finished:
                self._clean()
            if there is None:
                (folder / self.PRIOR).unlink(missing_ok=True)  # it may be of other data
                self.keep_config(config)
            yield there or config, self.finished

    @classmethod
    @contextmanager
    def new(cls, path: Path) -> Iterator[RunFolder]:
        """Make a folder to fill. It is taken back where that fails: half a model would bar its name."""
        if path.is_file() or (path.exists() and any(path.iterdir())):
            raise ValueError(f"{path} {'is a file' if path.is_file() else 'is not empty'}; name a new folder")
        path.mkdir(parents=True, exist_ok=True)
        try:
            yield cls(path)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Hold the folder of a finished run while the answer is written beside the model; not on a read-only disk."""
        if not os.access(self.path, os.W_OK):
            yield
            return
        with lock(self.path, wait=True):
            self._clean()
            yield

    def _same(self, config: Json) -> Json | None:
        """Return the config that is there; None for another one of a run that has learned nothing. Refuse others."""
        there = self.config()
        if differ := differences(there, config):
            if self.finished or self.newest_checkpoint() or any(self.path.glob("part-*.skops")) or self.trials():
                raise ValueError(
                    f"{self.path} was made with other {'; other '.join(differ)}; name another folder (--folder)"
                )
            return None
        if "seed" in config and "seed" not in there:
            raise ValueError(f"{self.path / self.CONFIG} has no 'seed'; {atomic.REMEDY}")
        return there

    def _refuse_links(self) -> None:
        """A link would lead what is written or read here out of the folder, which may come from somebody else."""
        for path in self.path.iterdir():
            if self.owns(path.name) and (path.is_symlink() or not path.is_file()):
                what = "a link" if path.is_symlink() else "not a plain file"
                raise ValueError(f"{path} is {what}; a run folder holds plain files only: name another folder")

    def _left_overs(self) -> list[Path]:
        """Temporary files of processes that were killed, and what a resume needed where the run is finished."""
        served = self._checkpoints() if self.finished else []
        temporary = [path for path in self.path.iterdir() if self.owns(atomic.left_over(path.name) or "")]
        return served + [path for path in temporary if path.is_symlink() or path.is_file()]

    def _checkpoints(self) -> list[Path]:
        return [*self.path.glob("stage-*.safetensors"), *self.path.glob("part-*.skops")]

    def _clean(self) -> None:
        for path in self._left_overs():
            path.unlink(missing_ok=True)

    def config(self) -> Json:
        path = self.path / self.CONFIG
        config = atomic.read_signed(path, "method", "params", "data")[0]
        for key, (holds, rule) in CONFIG_RULES.items():
            if key in config and not holds(config[key]):
                raise ValueError(f"{path}: {key} must be {rule}; {atomic.REMEDY}")
        return config

    def keep_config(self, config: Json) -> None:
        atomic.write_signed(self.path / self.CONFIG, config)

    # ------------------------------------------------------------- training

    def log(self) -> list[Json]:
        """The epochs so far, up to the first line that is torn or damaged."""
        return list(itertools.takewhile(_is_epoch, read_log(self.path / self.LOG)))

    def rewrite_log(self, rows: Iterable[Json]) -> None:
        atomic.write(self.path / self.LOG, log_lines(rows).encode())

    def append_to_log(self, row: Json) -> None:
        atomic.append(self.path / self.LOG, log_lines([row]).encode())

    def prior(self) -> Json | None:
        """The estimate that is kept; None where there is none, or where it is damaged and is made again."""
        try:
            found = atomic.read_signed(self.path / self.PRIOR, "prior")[0]
        except (ValueError, FileNotFoundError):
            return None
        return found if is_estimate(found) and 0 < found["prior"] < 1 else None

    def keep_prior(self, found: Json) -> None:
        atomic.write_signed(self.path / self.PRIOR, found)

    def seconds(self) -> float:
        """Seconds of training up to the newest checkpoint: a resumed run reports the time of all its parts."""
        try:
            seconds = float(atomic.read_json(self.path / self.SECONDS, "seconds")["seconds"])
        except (OSError, ValueError, TypeError, OverflowError):
            return 0.0  # a missing or damaged file is no reason to refuse the run
        return seconds if math.isfinite(seconds) and seconds > 0 else 0.0

    def keep_seconds(self, seconds: float) -> None:
        atomic.write_json(self.path / self.SECONDS, {"seconds": round(seconds, 2)})

    def checkpoints(self, stage: str) -> tuple[Path, Path]:
        """The newest checkpoint of a stage, and the one before it."""
        return self.path / f"stage-{stage}.safetensors", self.path / f"stage-{stage}.before.safetensors"

    def checkpoint(self, path: Path, stage: str, epochs: int) -> tuple[Tensors, int]:
        """The state in a checkpoint of a stage of so many epochs, and how many of them are done."""
        from . import tensors

        state, meta = tensors.load(path)
        done = meta.get("epochs_done")
        if meta.get("stage") != stage or type(done) is not int or not 0 < done <= epochs:
            raise ValueError(f"{path} is damaged (it is not of stage {stage!r} with up to {epochs} epochs)")
        return state, done

    def newest_checkpoint(self) -> Path | None:
        saved = self.path.glob("stage-*.safetensors")
        return max(saved, key=lambda path: path.stat().st_mtime_ns, default=None)

    def to_go_on_from(self) -> list[Path]:
        """The files that a finished run is restored from, or that a started one goes on from."""
        names = {self.LOG, self.PRIOR, self.SECONDS, self.WEIGHTS, self.MODEL, self.CONFIG, self.ENCODER}
        names |= {self.ENCODER_ARRAYS, self.DONE}
        there = [self.path / name for name in sorted(names)]
        return [path for path in (*there, *self.path.glob("stage-*.safetensors")) if path.is_file()]

    def keep_checkpoint(self, stage: str, state: Tensors, epochs_done: int) -> None:
        from . import tensors

        newest, before = self.checkpoints(stage)
        if newest.exists():
            os.replace(newest, before)
        tensors.save(newest, state, stage=stage, epochs_done=epochs_done)

    # --------------------------------------------------------- after training

    def finish(self, fitted: Fitted) -> None:
        """Write model.json beside the weights or models, then `done`: a folder with `done` is whole."""
        fitted.write(self.path / self.MODEL)
        self.mark_done()
        self._clean()

    def mark_done(self) -> None:
        atomic.write(self.path / self.DONE, b"")

    def fitted(self, also: Iterable[str] = (), of_network: bool = True) -> Fitted:
        """What was learnt beside the weights; `also` names what the method adds."""
        return Fitted.read(self.path / self.MODEL, also, of_network)

    def weights(self) -> Tensors:
        from . import tensors

        return tensors.load(self.path / self.WEIGHTS)[0]

    def keep_weights(self, weights: Tensors) -> None:
        from . import tensors

        tensors.save(self.path / self.WEIGHTS, weights)

    def models(self, names: Iterable[str]) -> dict[str, Any]:
        """The classifiers and arrays of these names, no more and no fewer: they become attributes of the method."""
        from . import models

        state = models.load(self.path / self.MODELS)
        if not isinstance(state, dict) or set(state) != set(names):
            raise ValueError(f"{self.path / self.MODELS} is not of this method; {atomic.REMEDY}")
        return state

    def keep_models(self, state: dict[str, Any], owner: str) -> None:
        from . import models

        models.save(self.path / self.MODELS, state, owner)

    def encoder(self) -> tuple[Json, dict[str, np.ndarray]]:
        """The state of the encoder of a data frame."""
        from . import arrays

        state = atomic.read_signed(self.path / self.ENCODER, "columns")[0]
        path = self.path / self.ENCODER_ARRAYS
        return state, arrays.load(path) if path.exists() else {}

    def keep_encoder(self, state: Json, found: dict[str, np.ndarray]) -> None:
        from . import arrays

        if found:
            arrays.save(self.path / self.ENCODER_ARRAYS, found)
        atomic.write_signed(self.path / self.ENCODER, state)

    def part(self, number: int) -> Any:
        """A classifier that an earlier process fitted and kept; None where there is none, or where it is damaged."""
        from . import models

        try:
            state = models.load(self.path / f"part-{number:04d}.skops")
        except (ValueError, FileNotFoundError):
            return None  # it is fitted again, to the same bits
        return state.get("model") if isinstance(state, dict) else None

    def keep_part(self, number: int, model: Any, owner: str) -> None:
        from . import models

        models.save(self.path / f"part-{number:04d}.skops", {"model": model}, owner)

    @property
    def has_result(self) -> bool:
        return (self.path / self.RESULT).exists()

    def result(self) -> Json | None:
        return atomic.read_signed(self.path / self.RESULT)[0] if self.has_result else None

    def keep_result(self, result: Json) -> None:
        atomic.write_signed(self.path / self.RESULT, result)

    def scores(self) -> dict[str, np.ndarray]:
        from . import arrays

        path = self.path / self.SCORES
        try:
            return arrays.read_npz(path, "score", "s", "y")
        except FileNotFoundError:
            raise FileNotFoundError(f"{path} does not exist; {atomic.REMEDY}") from None
        except arrays.DAMAGED:
            raise ValueError(f"{path} is damaged; {atomic.REMEDY}") from None

    def keep_scores(self, scores: Mapping[str, Any]) -> None:
        from . import arrays

        arrays.write_npz(self.path / self.SCORES, scores)

    def finished_at(self) -> float:
        """When the run ended, in seconds since 1970."""
        return (self.path / self.DONE).stat().st_mtime

    def facts(self) -> Json:
        """What report.json says: every fact of the page."""
        return atomic.read_signed(self.path / self.FACTS, "schema")[0]

    def keep_facts(self, facts: Json) -> None:
        atomic.write_signed(self.path / self.FACTS, facts)

    def keep_page(self, html: str) -> Path:
        atomic.renew(self.path / self.PAGE, html.encode())
        return self.path / self.PAGE

    @property
    def ranked(self) -> Path:
        return self.path / self.RANKED

    def keep_ranked(self, pieces: Callable[[], Iterable[bytes]]) -> None:
        if atomic.holds(self.ranked, pieces()):
            return
        with atomic.temporary(self.ranked) as file:
            file.writelines(pieces())

    def keep_broken(self, broken: Iterable[tuple[str, str]]) -> None:
        """Write which images could not be read, and why."""
        lines = "".join(f"{cell(name)},{cell(why)}\n" for name, why in broken)
        atomic.renew(self.path / self.BROKEN, f"id,reason\n{lines}".encode("utf-8", "replace"))
