"""The experiments of four papers: their data sets, protocols and contestants, as near to the text as it goes.

What a text leaves open is chosen here and said in ``notes``, which the page of results repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import manyboost
from manyboost.evaluation.contestants import Contestant, Make
from manyboost.evaluation.datasets import DataSet
from manyboost.evaluation.protocols import FiftyTwentyFive, KFold, OfficialSplit, SplitRule
from manyboost.evaluation.published import hm_errors, m2t_errors, piboost_errors, piboost_rounds, piboost_spreads
from manyboost.learners import C45Tree, LocalizedSimilarity, NaiveBayes


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes
    ----------
    name, title : of the results
    sets : the paper's names of the data sets and ours, those first that take least time
    protocol : the rule of a data set, by the paper's name
    makers : how to make each contestant for a data set, by the paper's name of the algorithm
    published : the paper's errors, or None where it has a chart only
    spreads : standard deviations over ``n_folds`` folds, where the paper has them
    n_folds : splits in which every row is tested once
    claim : what the paper says
    notes : what was chosen where the text is silent
    """

    name: str
    title: str
    sets: Mapping[str, str]
    protocol: Callable[[str], SplitRule]
    makers: Mapping[str, Maker]
    claim: str
    notes: tuple[str, ...]
    published: pd.DataFrame | None = None
    spreads: pd.DataFrame | None = None
    n_folds: int = 5

    def contestants(self, set_name: str) -> list[Contestant]:
        return [Contestant(name, make(set_name)) for name, make in self.makers.items()]


Maker = Callable[[str], Make]
# what papers do without: shrinkage, a temperature, other trees in the place of perfect ones, and an error where a fold has a category of
# its own
PLAIN: dict[str, Any] = {"learning_rate": 1.0, "calibrate": False, "on_perfect": "stop", "handle_unknown": "missing"}
STUMPS: dict[str, Any] = {"max_depth": 1, "max_leaf_nodes": None, "splitter": "best"}


def _made(kind: type, of_set: Callable[[str, DataSet], dict[str, Any]] = lambda set_name, data: {}, **settings: Any) -> Maker:
    """A classifier with settings of which some may depend on the data set."""
    return lambda set_name: lambda data, seed: kind(random_state=seed, **settings, **of_set(set_name, data))


# ---- PIBoost: Fernandez-Baldera and Baumela (2014), Table 3 and figure 3 -----------------------------------------------------------

PIBOOST_SETS = {
    "Vehicle": "vehicle", "Waveform": "waveform-21", "CarEvaluation": "car", "Vowel": "vowel", "Segmentation": "segment",
    "PageBlocks": "page-blocks", "SatImage": "satimage", "Nursery": "nursery", "PenDigits": "pendigits", "OptDigits": "optdigits",
    "CNAE9": "cnae9", "Multifeatures": "mfeat", "Chess": "krkopt", "Isolet": "isolet",
}  # fmt: skip
AMAZON_SETS = {"Amazon stand-in": "amazon-stand-in"}
ROUNDS_OF_AMAZON = {"GentleBoost": 10, "AdaBoost.MH": 500, "SAMME": 500, "PIBoost(1)": 10}
SHARE_OF_ROWS = 0.1  # M = 0.1 N


def _piboost(algorithm: str, smallest_split: float, kind: type, **settings: Any) -> Maker:
    """A tree is grown on M = 0.1 N rows and splits nodes of more than ``smallest_split`` * M/K of them; rounds are those of Table 2."""

    def of_set(set_name: str, data: DataSet) -> dict[str, Any]:
        n_rounds = ROUNDS_OF_AMAZON[algorithm] if set_name in AMAZON_SETS else int(piboost_rounds().loc[set_name, algorithm])
        return {"n_estimators": n_rounds, "min_samples_split": smallest_split / data.n_classes}

    return _made(kind, of_set, **PLAIN, **{**STUMPS, "max_depth": None}, subsample=SHARE_OF_ROWS, **settings)


PIBOOST = Experiment(
    name="piboost",
    title="PIBoost (Fernandez-Baldera and Baumela 2014), Table 3",
    sets=PIBOOST_SETS,
    protocol=lambda set_name: KFold(5),
    makers={
        "GentleBoost": _piboost("GentleBoost", 0.5, manyboost.GentleBoostClassifier, variant="zou", damp=False),
        "AdaBoost.MH": _piboost("AdaBoost.MH", 1.0, manyboost.AdaBoostMHClassifier, leaves="vote", grow_by="classes", sampling="weight"),
        "SAMME": _piboost("SAMME", 1.0, manyboost.SAMMEClassifier, sampling="weight", prune="merge"),
        "PIBoost(1)": _piboost("PIBoost(1)", 1.0, manyboost.PIBoostClassifier, separators="singles"),
        "PIBoost(2)": _piboost("PIBoost(2)", 1.0, manyboost.PIBoostClassifier, separators="pairs"),
    },
    claim="PIBoost(2) has the best mean rank.",
    notes=(
        "Rows of a tree are drawn by weight, with replacement (GentleBoost: evenly); the paper does not say how.",
        "Leaves that say the same are merged (PIBoost, SAMME); the paper prunes without saying how.",
        "AdaBoost.MH: trees whose leaves vote +1 or -1 for every class; the paper does not say which form of it was used.",
        "GentleBoost: the published form, without damping.",
        "The Amazon set of the paper cannot be had; see `manyboost reproduce amazon` for a stand-in.",
    ),
    published=piboost_errors(),
    spreads=piboost_spreads(),
)

AMAZON = Experiment(
    name="amazon",
    title="PIBoost's experiment with 50 classes (Fernandez-Baldera and Baumela 2014), figure 5, on a stand-in",
    sets=AMAZON_SETS,
    protocol=lambda set_name: KFold(5),
    makers={name: make for name, make in PIBOOST.makers.items() if name in ROUNDS_OF_AMAZON},
    claim="PIBoost(1) is best, before GentleBoost, SAMME and AdaBoost.MH.",
    notes=(
        "The paper's set, 1,500 reviews of 50 authors, cannot be had. In its place are made-up texts of the same shape: counts of 10,000 "
        "words, 30 texts of each of 50 authors, whose frequencies of words differ. Its errors cannot be compared with the paper's: "
        "PIBoost(1) 42.1 %, GentleBoost 51.1 %, SAMME 62.7 %, AdaBoost.MH 79.1 %.",
        f"{ROUNDS_OF_AMAZON['PIBoost(1)']} rounds of PIBoost(1) and GentleBoost and {ROUNDS_OF_AMAZON['SAMME']} of the others, which makes "
        "as many weak learners; the paper has a figure only.",
    ),
)

# ---- AdaBoost.HM: Jin, Hou and Liu (2010), Table 2 ---------------------------------------------------------------------------------

HM_SMALL = {
    "Iris": "iris", "Wine": "wine", "Lymphography": "lymph", "Glass": "glass", "Sonar": "sonar", "Ionosphere": "ionosphere",
    "Balance": "balance-scale", "Dermatology": "dermatology", "Breast": "breast-w", "Diabetes": "diabetes", "Pima": "diabetes",
    "Vehicle": "vehicle", "Yeast": "yeast", "Waveform-21": "waveform-21", "Shuttle-small": "shuttle-small",
}  # fmt: skip
HM_LARGE = {
    "Thyroid": "thyroid", "Satimage": "satimage", "Optdigit": "optdigits", "Pendigit": "pendigits", "Letter": "letter", "Usps": "usps",
    "Isolet": "isolet", "Mnist": "mnist",
}  # fmt: skip
HIDDEN_SMALL, HIDDEN_LARGE, EPOCHS, MEMBERS, TREES = 5, 100, 40, 10, 100


def _network(set_name: str, seed: int) -> MLPClassifier:
    hidden = HIDDEN_SMALL if set_name in HM_SMALL else HIDDEN_LARGE
    return MLPClassifier(
        (hidden,), activation="logistic", solver="sgd", learning_rate="invscaling", learning_rate_init=0.5, power_t=0.25, batch_size=16,
        max_iter=EPOCHS, tol=0.0, n_iter_no_change=EPOCHS, alpha=0.0, random_state=seed,
    )  # fmt: skip


def _on_numbers(model: Any) -> Any:
    """The classifier behind columns as numbers of equal spread: categories one-hot, missing values by the mean."""
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include="category")),
        remainder=SimpleImputer(keep_empty_features=True),
    )
    return make_pipeline(encoded, StandardScaler(), model)


def _networks(kind: type, *, on_large: Mapping[str, Any] = {}, **settings: Any) -> Maker:
    """Boosted networks, on the large sets with some more settings."""

    def maker(set_name: str) -> Make:
        chosen = {**settings, **(on_large if set_name in HM_LARGE else {})}
        plain = {"n_estimators": MEMBERS, "learning_rate": 1.0, "calibrate": False, "on_perfect": "stop"}
        return lambda data, seed: _on_numbers(kind(estimator=_network(set_name, seed), random_state=seed, **plain, **chosen))

    return maker


HM = Experiment(
    name="hm",
    title="AdaBoost.HM (Jin, Hou and Liu 2010), Table 2",
    sets={**HM_SMALL, **HM_LARGE},
    protocol=lambda set_name: KFold(10, repeats=10) if set_name in HM_SMALL else OfficialSplit(),
    makers={
        "M1W+DT": _made(manyboost.SAMMEClassifier, n_estimators=TREES, **PLAIN, **STUMPS),
        "MH+DT": _made(
            manyboost.AdaBoostMHClassifier,
            n_estimators=TREES,
            leaves="confidence",
            grow_by="classes",
            smoothing=0.5,
            **PLAIN,
            **STUMPS,
        ),
        "MLP": lambda set_name: lambda data, seed: _on_numbers(_network(set_name, seed)),
        "M1+MLP": _networks(manyboost.AdaBoostM1Classifier),
        "MH+MLP": _networks(manyboost.AdaBoostMHClassifier, leaves="probability", on_large={"sampling": "weight"}),
        "HM+MLP": _networks(manyboost.AdaBoostHMClassifier, response="probability", line_search="bound"),
    },
    claim="HM+MLP has the best mean rank.",
    notes=(
        f"The networks have {HIDDEN_SMALL} hidden nodes on the small sets and {HIDDEN_LARGE} on the large ones, a first learning rate of "
        f"0.5, and {EPOCHS} epochs; the paper searched 1 to 5 (100 to 200) nodes and five rates by cross-validation.",
        "MH+MLP sees a copy of each row for every class, with the weights of these pairs; on the large sets, for its time, as many copies "
        "as there are rows, drawn by weight.",
        "DT is taken for a stump: the paper's accuracies with it are those of stumps.",
        "Columns are brought to equal spread, one by one; the paper divides by the largest of all spreads.",
        "Diabetes and Pima are one set here. Shuttle-small has other rows than the paper's.",
        "The paper's ten times ten folds are run from the first on; how many were run is said at the table.",
    ),
    published=hm_errors(),
    n_folds=10,
)

# ---- M2T and MHT: Bylander (2010), Table 2 -----------------------------------------------------------------------------------------

M2T_SETS = {
    "iris": "iris", "zoo": "zoo", "lymph": "lymph", "balance-scale": "balance-scale", "glass": "glass", "ecoli": "ecoli", "autos": "autos",
    "primary-tumor": "primary-tumor", "audiology": "audiology", "vehicle": "vehicle", "soybean": "soybean", "anneal": "anneal",
    "vowel": "vowel-weka", "segment": "segment", "hypothyroid": "hypothyroid", "splice": "splice", "waveform": "waveform-40",
    "arrhythmia": "arrhythmia", "optdigits": "optdigits", "pendigits": "pendigits", "letter": "letter",
}  # fmt: skip
LEARNERS_OF_M2T = {"NB": NaiveBayes(handle_unknown="missing"), "C4.5": C45Tree(handle_unknown="missing")}
ROUNDS_OF_M2T, ROUNDS_WITHOUT_RESAMPLING = 500, 100
FORMS_OF_M2T: dict[str, tuple[type, dict[str, Any]]] = {
    "ECC": (manyboost.AdaBoostECCClassifier, {"sampling": "weight"}),
    "M2T": (manyboost.AdaBoostM2Classifier, {"sampling": "weight"}),
    "MHT": (manyboost.AdaBoostMHClassifier, {"leaves": "label", "weights": "balanced", "sampling": "weight"}),
}


M2T = Experiment(
    name="m2t",
    title="AdaBoost.M2T and MHT (Bylander 2010), Table 2",
    sets=M2T_SETS,
    protocol=lambda set_name: KFold(10),
    makers={
        f"{short} {name}": _made(kind, estimator=learner, n_estimators=ROUNDS_OF_M2T, **PLAIN, **settings)
        for short, learner in LEARNERS_OF_M2T.items()
        for name, (kind, settings) in FORMS_OF_M2T.items()
    },
    claim="ECC, M2T and MHT are level.",
    notes=(
        "As many rows are drawn by weight as there are; the paper does not say how many.",
        "ECC colours half of the classes at random, on rows drawn by weight like the others; the paper does not say how. Without that, a "
        "C4.5 tree that is pruned to its root ends the fit: on balance-scale some folds then have no round at all.",
        "MHT makes the step that its bound needs, not the printed one.",
    ),
    published=m2t_errors(),
    n_folds=10,
)

RESAMPLING = Experiment(
    name="resampling",
    title="AdaBoost.M2T with and without resampling (Bylander 2010), section 5.1",
    sets=M2T_SETS,
    protocol=lambda set_name: KFold(10),
    makers={
        f"{short} {name}": _made(
            manyboost.AdaBoostM2Classifier, estimator=learner, n_estimators=ROUNDS_WITHOUT_RESAMPLING, sampling=sampling, **PLAIN
        )
        for short, learner in LEARNERS_OF_M2T.items()
        for name, sampling in (("resampled", "weight"), ("all rows", "uniform"))
    },
    claim="In 100 rounds resampling has the lower error on 16 of 21 sets with naive Bayes and on 10 of 21 with C4.5.",
    notes=(f"{ROUNDS_WITHOUT_RESAMPLING} rounds each. The paper prints no table of these errors.",),
    n_folds=10,
)

# ---- REBEL: Appel and Perona (2017), figures 8 and 9 -------------------------------------------------------------------------------

REBEL_SETS = {
    "Glass": "glass", "Vowel": "vowel", "Segment": "segment", "Landsat": "satimage", "Pendigits": "pendigits", "Letter": "letter",
    "USPS": "usps", "Isolet": "isolet", "MNIST": "mnist",
}  # fmt: skip
ROUNDS_OF_REBEL = 200
OF_REBEL: dict[str, Any] = {"n_estimators": ROUNDS_OF_REBEL, "calibrate": False, "on_perfect": "stop"}
ONE_STUMP: dict[str, Any] = {**OF_REBEL, **STUMPS, "learning_rate": 1.0}

REBEL = Experiment(
    name="rebel",
    title="REBEL (Appel and Perona 2017), figure 8",
    sets=REBEL_SETS,
    protocol=lambda set_name: FiftyTwentyFive(5),
    makers={
        "1-vs-All": _made(manyboost.OneVsAllClassifier, estimator=manyboost.SAMMEClassifier(**OF_REBEL, max_depth=1)),
        "AdaBoost.MH": _made(manyboost.AdaBoostMHClassifier, grow_by="classes", **ONE_STUMP),
        "AdaBoost.ECC": _made(manyboost.AdaBoostECCClassifier, **ONE_STUMP),
        "CW-Boost": _made(manyboost.CWBoostClassifier, **ONE_STUMP),
        "StructBoost": _made(manyboost.StructBoostClassifier, **ONE_STUMP),
        "AOSO-LogitBoost": _made(manyboost.AOSOLogitBoostClassifier, max_leaf_nodes=2, splitter="best", learning_rate=1.0, **OF_REBEL),
        "REBEL (trees)": _made(manyboost.RebelClassifier, leaves="shared", max_depth=3, learning_rate=1.0, **OF_REBEL),
        "REBEL (similarities)": _made(manyboost.RebelClassifier, estimator=LocalizedSimilarity(), calibrate=False),
    },
    claim="REBEL with localized similarities is best on five of six sets.",
    notes=(
        f"{ROUNDS_OF_REBEL} rounds of stumps; for 1-vs-All so many for each class, for CW-Boost and StructBoost a stump for each class in "
        "each round.",
        "REBEL (trees): trees of depth 3 whose leaves share one vector.",
        "REBEL (similarities): until the loss is below 1/N, at most 10,000 rounds; the others end at 200, so they have fewer weak learners "
        "on most sets. The picture shows errors at equal numbers.",
        "StructBoost has C = 100 and ends when no stump lowers its loss.",
        "The paper has a bar chart and no numbers, so there are none to set beside ours.",
    ),
)

EXPERIMENTS: dict[str, Experiment] = {one.name: one for one in (PIBOOST, AMAZON, HM, M2T, RESAMPLING, REBEL)}
