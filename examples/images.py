"""Images and a network of your own: find the zeros and sixes among 1,797 small images, of which 50 are known.

    python examples/images.py [PICTURE]

writes a picture (digits.png unless you name another): the images called positive with the highest scores, and those
nearest to the cut, where a second look pays most.
"""

import sys

import matplotlib

matplotlib.use("Agg")  # draws into a file; needs no screen
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from torch import nn

from distpu import DistPU, draw_pu


def network() -> nn.Module:
    """A small convolutional network: 8x8 images in, one logit out."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 1),
    )  # fmt: skip


def main(picture: str = "digits.png") -> None:
    images, digit = load_digits().images.astype(np.float32), load_digits().target
    wanted = np.isin(digit, (0, 6)).astype(int)
    index, s = draw_pu(wanted, labelled=50, scenario="single-set", seed=0)  # all other labels are hidden
    X, truth = images[index, None], wanted[index]  # NCHW: one channel

    clf = DistPU(network=network, random_state=0).fit(X, s)
    scores = clf.predict_proba(X)[:, 1]
    hidden = s == 0
    print(f"{(s == 1).sum()} known zeros and sixes, {hidden.sum()} images without a label")
    print(f"estimated share of further ones among them: {clf.prior_:.1%}; the truth is {truth[hidden].mean():.1%}")
    called = scores >= 0.5
    print(f"called positive: {called[hidden].sum()}, of which {truth[hidden & called].mean():.1%} are zeros or sixes")
    print(f"found: {truth[hidden & called].sum()} of {truth[hidden].sum()}")

    rows = np.flatnonzero(hidden)
    surest = rows[np.argsort(-scores[rows])][:10]
    doubtful = rows[np.argsort(np.abs(scores[rows] - 0.5))][:10]
    figure, axes = plt.subplots(2, 10, figsize=(10, 2.6))
    for line, title, chosen in ((0, "highest scores", surest), (1, "nearest to the cut", doubtful)):
        axes[line, 0].set_title(title, loc="left", fontsize=9)
        for place, row in zip(axes[line], chosen, strict=True):
            place.imshow(X[row, 0], cmap="gray_r")
            place.set_xlabel(f"{scores[row]:.2f}", fontsize=8)
            place.set_xticks([])
            place.set_yticks([])
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
