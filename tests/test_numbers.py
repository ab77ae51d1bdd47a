"""Every number of the README, of docs/results.md and of the other pages is that of the kept runs."""

import json
import re
import runpy
import tomllib

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from distpu import METHODS
from distpu.metrics import METRICS
from pages import DOCS, ROOT, table, text_of
from terminal import distpu

SETS = {"fashion-mnist": "Fashion-MNIST", "cifar-10": "CIFAR-10", "alzheimer": "Alzheimer"}
OF_METHODS = [page for page in sorted((DOCS / "methods").glob("*.md")) if page.stem != "index"]


def lines_of(name, **wanted):
    """The kept lines of an experiment, wherever its folder is."""
    (log,) = ROOT.glob(f"results/**/{name}/runs.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]


def values(name, metric="accuracy", *, keep="last", **wanted):
    """A metric in percent by seed."""
    found = {line["seed"]: 100 * line[metric] for line in lines_of(name, keep=keep, **wanted)}
    assert found, (name, wanted)
    return [found[seed] for seed in sorted(found)]


def mean(*args, **wanted):
    return float(np.mean(values(*args, **wanted)))


def shown(found):
    return f"{np.mean(found):.2f} ± {np.std(found, ddof=1):.2f}"


def cells():
    """(method, label, data set, what the paper has) of the comparison."""
    (path,) = [*ROOT.glob("experiments/**/table-2.toml"), *ROOT.glob("src/distpu/**/table-2.toml")][:1]
    for cell in tomllib.loads(path.read_text())["cells"]:
        for dataset in SETS:
            yield cell["method"], cell["label"], dataset, cell[dataset]["published"]


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_comparison_is_that_of_the_runs(page):
    place = {dataset: 2 * number for number, dataset in enumerate(SETS)}
    found = table(page, "accuracy", "Fashion-MNIST")
    assert "Dist-PU" in found and (page == "README.md" or len(found) == 11)
    for method, label, dataset, published in cells():
        if label not in found:  # the README has some of the rows
            continue
        ours, paper = found[label][place[dataset] :][:2]
        assert ours == shown(values("table-2", dataset=dataset, method=method)), (method, dataset)
        assert paper == "{:.2f} ± {:.2f}".format(*published["accuracy"]), (method, dataset)


def test_dist_pu_beside_the_paper_in_six_metrics():
    for _, label, dataset, published in cells():
        if label == "Dist-PU":
            found = {metric: values("table-2", metric, dataset=dataset, method="dist-pu") for metric in METRICS}
            wide = ("accuracy", "auc")
            ours = [shown(found[m]) if m in wide else f"{np.mean(found[m]):.2f}" for m in METRICS]
            assert table("docs/results.md", "Dist-PU")[f"{SETS[dataset]}, ours"] == ours
            paper = [("{:.2f} ± {:.2f}" if m in wide else "{:.2f}").format(*published[m]) for m in METRICS]
            assert table("docs/results.md", "Dist-PU")[f"{SETS[dataset]}, the paper"] == paper


def test_dist_pu_plus_is_that_of_the_runs():
    cnn = dict(method="dist-pu-plus", dataset="cifar-10", variant="CNN-13")
    mlp = dict(method="dist-pu-plus", dataset="fashion-mnist", variant="MLP at a low rate")
    runs = {"CIFAR-10": ("plus-cifar-10", cnn), "Fashion-MNIST": ("plus-other-sets", mlp)}
    row = next(cells for name, cells in table("README.md", "accuracy", "Fashion-MNIST").items() if "Dist-PU+" in name)
    for place, dataset in enumerate(("Fashion-MNIST", "CIFAR-10")):
        name, wanted = runs[dataset]
        accuracy, auc = (values(name, metric, **wanted) for metric in ("accuracy", "auc"))
        assert row[2 * place].strip("*") == shown(accuracy)
        said = table("docs/methods/dist-pu-plus.md", "data set", "network", under="## Measured")[dataset]
        assert said[2:4] == [shown(accuracy), shown(auc)]
        seeds = [line["seed"] for line in lines_of(name, keep="last", **wanted)]
        assert said[1] in (", ".join(map(str, seeds)), f"{seeds[0]} to {seeds[-1]}") and min(seeds) >= 5


def test_dist_pu_plus_with_an_estimated_prior_and_on_the_cnn_is_that_of_the_runs():
    said = table("docs/methods/dist-pu-plus.md", "data set", "network", under="## Measured")
    rows = {
        'CIFAR-10, `prior="auto"`': ("plus-cifar-10", "cifar-10", "CNN-13 with an estimated prior"),
        "Fashion-MNIST with a CNN": ("plus-other-sets", "fashion-mnist", "CNN-13"),
        "Fashion-MNIST, first settings": ("plus-other-sets", "fashion-mnist", "MLP"),
        'Fashion-MNIST, first settings, `prior="auto"`': (
            "plus-other-sets",
            "fashion-mnist",
            "MLP with an estimated prior",
        ),
    }
    for row, (name, dataset, variant) in rows.items():
        wanted = dict(dataset=dataset, variant=variant)
        assert said[row][2:4] == [shown(values(name, metric, **wanted)) for metric in ("accuracy", "auc")]
    pulda = [shown(values("plus-other-sets", metric, variant="PULDA")) for metric in ("accuracy", "auc")]
    assert f"`pulda` has {' / '.join(pulda)} on the same seeds" in text_of("docs/methods/dist-pu-plus.md")
    errors = [abs(line["prior"] - 0.4) for line in lines_of("plus-cifar-10", variant="CNN-13 with an estimated prior")]
    assert f"it is {np.mean(errors):.3f} off on the mean".replace("0.", ".") in text_of("docs/prior.md")
    cnn = mean("plus-cifar-10", variant="CNN-13", method="dist-pu-plus")
    assert f"Dist-PU+ has an accuracy of {cnn:.2f}, where Dist-PU has 91.94" in text_of("docs/images.md")
    assert "96.60" in text_of("README.md") and mean(
        "plus-cifar-10", variant="CNN-13 with an estimated prior"
    ) == pytest.approx(96.60, abs=0.005)


def test_which_rows_are_near_dist_pu_and_which_are_far_from_the_paper():
    near, better, worse = ({dataset: set() for dataset in SETS} for _ in range(3))
    for method, label, dataset, published in cells():
        ours, first = (values("table-2", dataset=dataset, method=m) for m in (method, "dist-pu"))
        assert np.mean(ours) <= np.mean(first)  # "Dist-PU is first on all three sets"
        if method != "dist-pu" and ttest_rel(first, ours).pvalue >= 0.05:
            near[dataset].add(label)
        away = np.mean(ours) - published["accuracy"][0]
        if abs(away) > (3 if dataset == "alzheimer" else 1.5):
            (better if away > 0 else worse)[dataset].add(f"{label} {away:+.1f}")
    in_the_noise = table("docs/results.md", "set", "Dist-PU's lead is within the noise over")
    far = table("docs/results.md", "set", "better than the paper")
    for dataset, name in SETS.items():
        said = [set() if cell == "none" else set(cell.split(", ")) for cell in in_the_noise[name] + far[name]]
        assert said == [near[dataset], better[dataset], worse[dataset]]


def test_a_wrong_prior_costs_what_the_page_says():
    priors = ["0.2", "0.3", "0.4", "0.5", "0.6"]
    for metric in ("accuracy", "AUC"):
        rows = table("docs/results.md", f"{metric}, told a prior of", *priors)
        assert len(rows) == 3
        for name, told in rows.items():
            method, dataset = name.lower().split(", ")
            study = "prior-sensitivity" if dataset == "cifar-10" else "prior-fashion-mnist"
            cell = dict(method=method, dataset=dataset)
            ours = [mean(study, metric.lower(), variant=f"prior={prior}", **cell) for prior in priors]
            assert told == [f"{value:.1f}" for value in ours], name


@pytest.mark.parametrize(
    "under, name", [("### digits", "compare-digits"), ("### breast-cancer", "compare-breast-cancer"),
                    ("## Measured on Fashion-MNIST", "methods-fashion-mnist")]
)  # fmt: skip
def test_the_guide_to_choosing_has_the_figures_of_the_runs(under, name):
    rows = table("docs/choosing.md", "method", "accuracy", "F1", "AUC", under=under)
    assert set(rows) >= {method for method in METHODS if lines_of(name, method=method, variant=None)}
    for method, (*figures, seconds) in ((m, [*cells, ""][:4]) for m, cells in rows.items()):
        lines = lines_of(name, method=method, variant=None)
        for told, metric in zip(figures, ("accuracy", "f1", "auc"), strict=True):
            ours = [100 * line[metric] for line in lines]
            assert told == f"{np.mean(ours):.1f} ± {np.std(ours, ddof=1):.1f}", (method, metric)
        if seconds:
            assert seconds == f"{np.mean([line['seconds'] for line in lines]):.1f}", method


def test_what_the_guide_to_choosing_says_of_the_other_systems_is_what_was_measured():
    head = ("method", "tables", "accuracy")
    tables, words = (
        table("results/named/README.md", *head, under=under)
        for under in ("## Development tables", "## Texts as counts of words")
    )
    rows = table("docs/choosing.md", "method on 16 real tables, 2 of words", "accuracy")
    assert set(rows) == set(tables)
    for name, (accuracy, f1, auc, seconds, *on_words) in rows.items():
        assert [accuracy, f1, auc, seconds] == [tables[name][i] for i in (1, 2, 3, 5)], name
        assert on_words == ([words[name][i] for i in (1, 3)] if name in words else ["-", "-"]), name
    genpu = sorted(lines_of("compare-digits", method="genpu"), key=lambda line: line["seed"])
    a, b, c = (f"{100 * line['accuracy']:.0f}" for line in genpu)
    assert f"on digits seeds 0 to 2 have {a}, {b} and {c} % of accuracy" in text_of("docs/choosing.md")


WEAK = {"Self-PU": "self-pu", "VPU": "vpu", "aPU": "apu", "PUbN": "pubn"}


def test_the_seeds_that_fail_are_those_of_the_runs():
    seeds = ("0", "1", "2", "3", "4")
    for head, metric in (("accuracy by seed", "accuracy"), ("AUC by seed", "auc")):
        rows = table("docs/results.md", head, *seeds)
        assert rows == {
            label: [f"{v:.1f}" for v in values("table-2", metric, method=name, dataset="alzheimer")]
            for label, name in WEAK.items()
        }
    rows = table("docs/results.md", "share of U called positive by seed", *seeds)
    for label, name in WEAK.items():
        lines = sorted(
            lines_of("table-2", method=name, dataset="alzheimer", keep="last"), key=lambda line: line["seed"]
        )
        assert rows[label] == [f"{line['predicted_prior'][-1]:.2f}" for line in lines]


def test_what_is_missing_is_what_the_pages_of_the_experiments_say():
    rows = table("docs/results.md", "what", "runs", "seconds of a run")
    for what, (runs, *_) in rows.items():
        page = re.search(r"results/paper/.*?/README.md", what)[0]
        assert f"**Missing:** {runs} runs" in text_of(page), what
    by_method = {}
    for line in lines_of("table-2", dataset="alzheimer", keep="last"):
        by_method.setdefault(line["method"], []).append(line["seconds"])
    means = {name: np.mean(seconds) for name, seconds in by_method.items()}
    (first,) = (cells for what, cells in rows.items() if "table 2" in what)
    assert first[1:] == [f"{min(means.values()):.0f} to {max(means.values()):.0f}", f"{5 * sum(means.values()):,.0f}"]
    tries = table("docs/results.md", "what to try", "runs")
    for what, (runs, seconds) in tries.items():
        method = {"aPU": "apu", "VPU": "vpu"}.get(what.split()[0], "self-pu")
        assert seconds == f"{int(runs) * means[method]:.0f}", what


def test_what_the_guide_to_choosing_says_of_a_wrong_prior():
    costs = {0.1: [], 0.2: []}
    for study, method in (
        ("prior-sensitivity", "dist-pu"),
        ("prior-fashion-mnist", "dist-pu"),
        ("prior-fashion-mnist", "nnpu"),
    ):
        right = mean(study, method=method, variant="prior=0.4")
        for prior in (0.2, 0.3, 0.5, 0.6):
            costs[round(abs(prior - 0.4), 1)].append(right - mean(study, method=method, variant=f"prior={prior}"))
    little, much = costs.values()
    told = (
        f"wrong by 0.1 costs {min(little):.0f} to {max(little):.0f} points of accuracy, one that is wrong by 0.2 costs"
    )
    assert f"{told} {min(much):.0f} to {max(much):.0f}" in " ".join(text_of("docs/choosing.md").split())


def test_what_dist_pus_page_says_of_a_wrong_prior():
    costs = [
        mean(study, method="dist-pu", variant="prior=0.4") - mean(study, method="dist-pu", variant=f"prior={prior}")
        for study in ("prior-sensitivity", "prior-fashion-mnist")
        for prior in (0.3, 0.5)
    ]
    told = f"A prior that is wrong by 0.1 costs {min(costs):.1f} to {max(costs):.1f} points of accuracy"
    assert told in " ".join(text_of("docs/methods/dist-pu.md").split())


def test_the_ablation_is_that_of_the_runs():
    numbers = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"]
    ours = {name: [mean(name, variant=number) for number in numbers] for name in ("table-3", "ablation-fashion-mnist")}
    (path,) = [*ROOT.glob("experiments/**/table-3.toml"), *ROOT.glob("src/distpu/**/table-3.toml")][:1]
    told = {cell["variant"]: cell["published"]["accuracy"][0] for cell in tomllib.loads(path.read_text())["cells"]}
    paper = [told[number] for number in numbers]
    found = [*table("docs/results.md", "accuracy", "none", "lab").values()]
    assert found == [[f"{v:.1f}" for v in row] for row in (ours["table-3"], paper, ours["ablation-fashion-mnist"])]
    below = [paper[i] - ours["table-3"][i] for i in (0, 2, 3, 6)]
    assert f"are {min(below):.0f} to {max(below):.0f} points below the paper's" in text_of("docs/results.md")


def said():
    """The sentences of docs/results.md that have numbers, made from the runs."""
    seconds = {
        dataset: np.mean(
            [line["seconds"] for line in lines_of("table-2", method="dist-pu", dataset=dataset, keep="last")]
        )
        for dataset in SETS
    }
    yield f"A run takes {seconds['cifar-10']:.0f} s on one H200."
    yield f"A run takes {seconds['fashion-mnist']:.0f} s on one CPU core."
    yield f"A run takes {seconds['alzheimer']:.0f} s on the H200."
    paper = {dataset: published["accuracy"][0] for _, label, dataset, published in cells() if label == "Dist-PU"}
    dist_pu = dict(method="dist-pu", dataset="alzheimer")
    less = paper["alzheimer"] - mean("table-2", **dist_pu)
    yield f"has the paper's AUC and AP, and {less:.1f} points less accuracy"
    recall = values("table-2", "recall", **dist_pu)
    yield f"recall lies between {min(recall):.0f} and {max(recall):.0f} by seed"
    less = [
        mean("table-2", method=method, dataset="cifar-10")
        - mean("table-2", method=method, dataset="cifar-10", keep="pu")
        for method in {method for method, *_ in cells()}
    ]
    yield f"that epoch has {min(less):.1f} to {max(less):.1f} points of accuracy less"
    ceiling = [mean("extra", method="pn", dataset=dataset) for dataset in ("cifar-10", "fashion-mnist")]
    yield "has {:.2f} on CIFAR-10 and {:.2f} on Fashion-MNIST".format(*ceiling)
    yield f"accuracy falls to {mean('figure-4', variant='entropy=1'):.1f}"
    alpha = [mean("figure-5", variant=f"alpha={value}") for value in ("0.1", "1", "6")]
    yield "= 0.1 or 1 has {:.1f} or {:.1f}, where 6 has {:.1f}".format(*alpha)
    nu = [
        mean("figure-6", variant=f"mixup=10,mixed_entropy={g}") - mean("figure-6", variant=f"mixup=1,mixed_entropy={g}")
        for g in ("0", "0.04", "0.3")
    ]
    yield f"= 10 instead of 1 is worth {min(nu):.1f} to {max(nu):.1f} points"


def test_the_sentences_have_the_numbers_of_the_runs():
    page = " ".join(text_of("docs/results.md").split())
    for sentence in said():
        assert sentence in page, sentence


def test_what_choosing_the_epoch_on_held_out_rows_costs():
    less = {}
    for method, _, dataset, _ in cells():
        if dataset != "alzheimer":  # those runs are missing
            cell = dict(method=method, dataset=dataset)
            less.setdefault(dataset, []).append(mean("table-2", **cell) - mean("table-2", keep="pu", **cell))
    page = " ".join(text_of("docs/reproduce.md").split())
    cifar, fashion = less["cifar-10"], less["fashion-mnist"]
    assert f"On CIFAR-10 it has {min(cifar):.1f} to {max(cifar):.1f} points of accuracy less" in page
    assert f"between {max(fashion):.1f} less and {-min(fashion):.1f} more" in page


def test_the_weights_move_fashion_mnist_as_little_as_the_page_says():
    for study in ("mu-fashion-mnist", "alpha-fashion-mnist", "nu-gamma-fashion-mnist"):
        means = [mean(study, variant=variant) for variant in {line["variant"] for line in lines_of(study)}]
        assert np.ptp(means) <= 0.7
    assert "at most 0.7 points" in text_of("docs/results.md")


def test_the_earlier_picks_on_alzheimer_are_the_logs():
    first_four = ("65.99 ± 7.27", "68.90 ± 2.28", "69.07 ± 3.83", "70.21 ± 1.79")
    assert all(pick in " ".join(text_of("docs/log/2026-11.md").split()).replace("| ", "") for pick in first_four)
    assert "The first four had 66.0 to 70.2" in " ".join(text_of("docs/results.md").split())


FOR_TABLES = ("blend-pu", "dist-pu-boost")  # their pages have figures of real tables
NOT_RUN = ("dist-pu-plus",)  # its page has the figures of a trial with other code, and says so
OF_RUNS = [p for p in sorted((DOCS / "methods").glob("*.md")) if p.stem not in ("index", *FOR_TABLES, *NOT_RUN)]


@pytest.mark.parametrize("page", OF_RUNS, ids=lambda p: p.stem)
def test_a_methods_figures_are_those_of_the_runs(page):
    found = table(page.relative_to(ROOT), "data", "accuracy", "AUC", "runs")
    assert found
    for dataset, (accuracy, auc, runs) in found.items():
        name = re.match(r"\[(.*?)\]", runs)[1]
        cell = dict(method=page.stem, dataset=dataset.lower())
        kept = "last" if lines_of(name, keep="last", **cell) else "pu"
        for told, metric in ((accuracy, "accuracy"), (auc, "auc")):
            ours = values(name, metric, keep=kept, **cell)
            assert told == f"{np.mean(ours):.1f} ± {np.std(ours, ddof=1):.1f}", (dataset, metric)


@pytest.mark.slow
def test_the_demo_gives_the_readmes_numbers(tmp_path, monkeypatch):
    """To one point: other machines have other bits."""
    monkeypatch.chdir(tmp_path)
    ended = distpu("demo", "--seeds", "5")
    page = " ".join(text_of("README.md").split())
    for method, name in (("dist-pu", "Dist-PU"), ("nnpu", "nnPU"), ("naive", "the naive baseline")):
        found = float(re.search(rf"{method}: test accuracy ([\d.]+)", ended.err)[1])
        told = float(re.search(rf"([\d.]+) ± [\d.]+ for {name}", page)[1])
        assert abs(found - told) < 1, (method, found)


@pytest.mark.parametrize("what", ["simulated", "tables"])
def test_the_rates_of_the_diagnosis_are_the_kept_ones(what):
    whole = text_of(f"results/diagnosis/{what}.md").split("\n## ")[0]  # each group has a table of its own below
    (rates,) = re.findall(r"(?:^\|.*\n)+", whole, re.MULTILINE)
    assert len(rates.splitlines()) > 8
    assert rates in text_of("docs/diagnosis.md")


# --------------------------------------------------------------------- tuning


def test_the_page_on_tuning_has_the_numbers_of_the_searches():
    lines = [json.loads(line) for line in text_of("results/tuning/searches.jsonl").splitlines()]
    kept, method = {}, ""
    for line in text_of("docs/tuning.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[2].replace(".", "").isdigit():
            method = cells[0].split(",")[0] or method
            kept[method, cells[1]] = cells[2:]
    names = {"default": "default", "best by PU accuracy": "pu_accuracy", "recommended": "recommended"}
    assert {name for _, name in kept} == set(names) and len(kept) == 9
    for (method, name), (*metrics, counts) in kept.items():
        found = [line["test"] for line in lines if line["method"] == method]
        means = [100 * np.mean([test[names[name]][key] for test in found]) for key in ("accuracy", "f1", "auc")]
        assert metrics == [f"{mean:.1f}" for mean in means], (method, name)
        gains = [test[names[name]]["accuracy"] - test["default"]["accuracy"] for test in found]
        assert counts == ("" if name == "default" else f"{sum(g > 0 for g in gains)}, {sum(g < 0 for g in gains)}")


def test_the_page_on_tuning_has_the_means_of_the_epochs_kept():
    lines = [line for line in text_of("results/tuning/epochs.md").splitlines() if line.count("|") == 10]
    rows = [line.strip("|").split("|") for line in lines]
    numbers = np.array([[float(cell) for cell in row[3:]] for row in rows[2:-1]])
    last, chosen = numbers[:, 0], numbers[:, 1]
    prose = " ".join(text_of("docs/tuning.md").split())
    assert f"from {last.mean():.1f} to {chosen.mean():.1f} on the mean" in prose
    assert f"better on {(chosen > last).sum()} tables, worse on {(chosen < last).sum()})" in prose
    assert f"AUC goes from {numbers[:, 4].mean():.1f} to {numbers[:, 5].mean():.1f}" in prose
    assert f"On the same {len(numbers)} tables" in prose


@pytest.mark.parametrize("page", ["docs/methods/blend-pu.md", "docs/choosing.md", "README.md"])
def test_the_figures_of_real_tables_are_those_of_the_runs(page):
    """The rows of the benchmark are copied from results/tables/README.md, which tools/bench_tables.py makes."""
    measured = text_of("results/tables/README.md")
    rows = table(page, "method on 16 real tables", "accuracy", "F1", "AUC")
    assert "blend-pu" in rows and "forest" in rows
    for name, cells in rows.items():
        assert f"| {name} | {' | '.join(cells)} " in measured, (page, name)


def test_the_page_of_real_tables_is_made_of_its_lines():
    tool = runpy.run_path(str(ROOT / "tools/bench_tables.py"))
    lines = pd.read_json(ROOT / "results/tables/runs.jsonl", lines=True)
    page = text_of("results/tables/README.md")
    for part in (lines[~lines["table"].isin(tool["HELD_BACK"])], lines[lines["table"].isin(tool["HELD_BACK"])]):
        assert "\n".join(tool["table_of"](part)) in page
