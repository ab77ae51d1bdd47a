"""A method of your own, defined here, registered, and compared with nnPU on digits.

    python examples/add_a_method.py

The method ranks: every labelled row should score higher than every unlabelled one. A labelled row and a hidden positive
are alike, so their pairs favour neither, and the order learnt is that of the true classes (the PU part of Sakai, Niu,
Sugiyama: Semi-supervised AUC optimization based on positive-unlabeled learning, Machine Learning 2018).

    R = E_P E_U [l(z_P - z_U)],   l(z) = log(1 + exp(-z));   positive: the share `prior` of U with the highest z

docs/new-method.md says how such a class becomes a part of the package.
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from distpu import METHODS, draw_pu
from distpu.methods._network import NetworkMethod
from distpu.methods._parts import logistic_loss
from distpu.params import param
from distpu.train.loop import Risk
from distpu.train.run import Run
from distpu.train.scoring import logits


def ranking_risk(z: Tensor, s: Tensor, margin: float) -> Tensor:
    """R, over all pairs of the batch; 0 in a batch without labelled rows."""
    pairs = (s == 1)[:, None] & (s == 0)[None, :]
    losses = logistic_loss(z[:, None] - z[None, :] - margin)
    return torch.where(pairs, losses, 0.0).sum() / pairs.sum().clamp(min=1)


@dataclass(eq=False, repr=False, kw_only=True)
class RankPU(NetworkMethod):
    """Labelled rows above unlabelled ones; the prior cuts."""

    name = "rank-pu"
    paper = "Sakai, Niu, Sugiyama, Semi-supervised AUC optimization, Machine Learning 2018"

    epochs: int = param(10, "passes over the rows", least=1)
    margin: float = param(1.0, "by how much a labelled row should score higher", least=0)

    def _learn(self, run: Run) -> nn.Module:
        model, data = run.net(), run.data
        run.train("ranking", model, Risk("ranking", lambda z, s: ranking_risk(z, s, self.margin)), self._recipe())
        of_unlabelled = logits(model, data.x)[data.s == 0]
        self.threshold_ = float(torch.quantile(of_unlabelled, 1 - data.prior))
        return model


def main() -> None:
    METHODS["rank-pu"] = RankPU  # from here on the command line knows it too, in this process
    X, digit = load_digits(return_X_y=True)
    even = (digit % 2 == 0).astype(int)
    print("even digits, 100 of them known; rows without a label, mean over three draws")
    for name in ("rank-pu", "nnpu"):
        right, auc = [], []
        for seed in range(3):
            index, s = draw_pu(even, labelled=100, scenario="single-set", seed=seed)
            hidden, truth = s == 0, even[index]
            clf = METHODS[name](prior=truth[hidden].mean(), random_state=seed).fit(X[index], s)
            right.append((clf.predict(X[index]) == truth)[hidden].mean())
            auc.append(roc_auc_score(truth[hidden], clf.decision_function(X[index])[hidden]))
        print(f"{name:8}  accuracy {np.mean(right):.1%}  AUC {np.mean(auc):.3f}")


if __name__ == "__main__":
    main()
