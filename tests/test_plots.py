"""Displays: what they keep is right, and they draw it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from manyboost import GambleClassifier, OneVsOneClassifier, PIBoostClassifier
from manyboost.evaluation import compare_errors
from manyboost.evaluation.published import piboost_errors
from manyboost.plots import (
    CalibrationDisplay,
    ClassImportancesDisplay,
    CodeMatrixDisplay,
    ConfusionDisplay,
    CriticalDifferenceDisplay,
    DecisionRegionsDisplay,
    ExponentialLossDisplay,
    LearningCurveDisplay,
    MarginDisplay,
    StagedErrorDisplay,
)
from manyboost.plots.staged_error import mean_curve
from manyboost.report import draw_curves

mpl.use("Agg")
X, y = load_iris(return_X_y=True, as_frame=True)
y = np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def model() -> GambleClassifier:
    return GambleClassifier(n_estimators=8, max_leaf_nodes=4, early_stopping=True, random_state=0).fit(X, y)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    mpl.pyplot.close("all")


def texts(display: object) -> list[str]:
    return [text.get_text() for text in display.ax_.texts]  # type: ignore[attr-defined]


def test_critical_difference_shows_names_ranks_and_bars() -> None:
    display = CriticalDifferenceDisplay.from_errors(piboost_errors())
    assert "PIBoost(2)  1.75" in texts(display)
    assert any("critical difference 1.63" in text for text in texts(display))
    bars = [line for line in display.ax_.lines if line.get_linewidth() > 3]
    assert len(bars) == len(display.groups) == 2
    assert CriticalDifferenceDisplay.from_comparison(compare_errors(piboost_errors())).critical_difference == display.critical_difference


def test_staged_error_counts_weak_learners(model: GambleClassifier) -> None:
    pairs = PIBoostClassifier(n_estimators=3, separators="singles", random_state=0, calibrate=False).fit(X, y)
    display = StagedErrorDisplay.from_estimator({"Gamble": model, "PIBoost": pairs}, X, y)
    assert display.curves["PIBoost"][0].tolist() == [3, 6, 9]
    assert display.curves["PIBoost"][1][-1] == np.mean(pairs.predict(X) != y)
    assert len(display.curves["Gamble"][0]) == model.n_estimators_
    assert [line.get_label() for line in display.ax_.lines] == ["Gamble", "PIBoost"]
    in_rounds = StagedErrorDisplay.from_estimator(pairs, X, y, unit="rounds")
    assert in_rounds.curves["PIBoostClassifier"][0].tolist() == [1, 2, 3]


def test_mean_of_curves_that_end_at_different_rounds() -> None:
    rows = pd.DataFrame({"curve": ["1:0.5 2:0.3", "1:0.4 4:0.2"], "rounds": [2, 4], "weak_learners": [4, 8]})
    numbers, errors = mean_curve(rows, "rounds")
    assert numbers.tolist() == [1, 2, 4]
    assert_allclose(errors, [0.45, 0.35, 0.25])
    assert mean_curve(rows, "weak learners")[0].tolist() == [2, 4, 8]


def test_staged_error_from_results_keeps_the_order_asked_for() -> None:
    row = {"data_set": "d", "rounds": 2, "weak_learners": 2, "curve": "1:0.5 2:0"}
    results = pd.DataFrame([row | {"algorithm": "A"}, row | {"algorithm": "B"}, row | {"algorithm": "C", "curve": np.nan}])
    assert list(StagedErrorDisplay.from_results(results, "d", algorithms=["B", "A", "C"]).curves) == ["B", "A"]
    assert list(StagedErrorDisplay.from_results(results, "d").curves) == ["A", "B"]


def test_an_algorithm_looks_the_same_in_all_panels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order in the journal, and whoever is missing on a data set."""
    lines = [("d", "A"), ("d", "B"), ("e", "C"), ("e", "B"), ("e", "A"), ("f", "B")]
    results = pd.DataFrame(lines, columns=["data_set", "algorithm"]).assign(rounds=2, weak_learners=2, curve="1:0.4 2:0.2")
    kept: list[Any] = []
    monkeypatch.setattr("matplotlib.pyplot.close", kept.append)
    draw_curves(results, tmp_path / "curves.png")
    (figure,) = kept
    looks = {(line.get_label(), line.get_color(), line.get_marker()) for ax in figure.axes for line in ax.get_lines()}
    assert sorted(label for label, *_ in looks) == ["A", "B", "C"]
    (legend,) = figure.legends
    assert {(text.get_text(), line.get_color()) for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)} == {
        (label, colour) for label, colour, _ in looks
    }


def test_the_legend_of_one_panel_is_seen_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["GentleBoost", "AdaBoost.MH", "PIBoost(1)", "AOSO-LogitBoost", "REBEL (similarities)"]
    results = pd.DataFrame({"algorithm": names}).assign(data_set="d", rounds=2, weak_learners=2, curve="1:0.4 2:0.2")
    kept: list[Any] = []
    monkeypatch.setattr("matplotlib.pyplot.close", kept.append)
    draw_curves(results, tmp_path / "curve.png")
    (figure,) = kept
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1
    assert box.y1 < figure.axes[0].get_window_extent().y0


def test_learning_curve_marks_the_rounds_that_were_kept(model: GambleClassifier) -> None:
    display = LearningCurveDisplay.from_estimator(model)
    labels = [line.get_label() for line in display.ax_.lines]
    assert labels[:3] == ["training error", "validation error", "loss, relative"]
    assert ("rounds kept" in labels) == (model.n_estimators_ < len(model.history_["loss"]))
    assert_allclose(display.ax_.lines[0].get_ydata(), model.history_["training_error"])


def test_learning_curve_with_other_rows_and_the_loss_on_an_axis_of_its_own(model: GambleClassifier) -> None:
    display = LearningCurveDisplay.from_estimator(model, X, y, log_scale=True)
    errors = [np.mean(said != y) for said in model.staged_predict(X)]
    drawn = {line.get_label(): line for ax in display.figure_.axes for line in ax.lines}
    assert_allclose(drawn["test error"].get_ydata(), errors)
    assert_allclose(drawn["loss"].get_ydata(), model.history_["loss"])
    assert [ax.get_yscale() for ax in display.figure_.axes] == ["linear", "log"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][:4] == [
        "training error",
        "validation error",
        "loss",
        "test error",
    ]


def test_margins_are_below_zero_where_the_decision_is_wrong(model: GambleClassifier) -> None:
    display = MarginDisplay.from_estimator(model, X, y)
    margins = display.margins["GambleClassifier"]
    assert (np.diff(margins) >= 0).all()
    assert np.mean(margins < 0) == np.mean(model.predict(X) != y)
    with pytest.raises(ValueError, match="none of the classes"):
        MarginDisplay.from_predictions(["a", "z"], [[1, 0], [0, 1]], classes=["a", "b"])


def test_exponential_loss_has_the_margins_of_equation_5() -> None:
    display = ExponentialLossDisplay(n_classes=5, sizes=(1, 2)).plot()
    points = np.concatenate([line.get_xdata() for line in display.ax_.lines[1:]])
    K = 5
    assert_allclose(sorted(points[points > 0]), sorted([K / (1 * 4), K / (4 * 4), K / (2 * 4), K / (3 * 4)]))
    with pytest.raises(ValueError, match="sizes holds 5"):
        ExponentialLossDisplay(5, (5,))


def test_calibration_of_honest_and_of_wrong_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 4000)
    labels = np.array([rng.choice(3, p=row) for row in p])
    honest = CalibrationDisplay.from_predictions(labels, p, per_class=True)
    assert honest.expected_calibration_error < 0.03
    assert len(honest.curves) == 4
    sharp = p**4 / (p**4).sum(axis=1, keepdims=True)
    assert CalibrationDisplay.from_predictions(labels, sharp).expected_calibration_error > 0.1


def test_confusion_counts_and_costs() -> None:
    costs = np.array([[0, 1, 2], [3, 0, 1], [9, 1, 0]])
    display = ConfusionDisplay.from_predictions(["a", "b", "c", "c"], ["a", "a", "a", "c"], classes=list("abc"), cost_matrix=costs)
    assert display.counts.tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    assert display.mean_cost == (3 + 9) / 4
    assert sorted(texts(display)) == ["1"] * 4
    model = GambleClassifier(n_estimators=2, cost_matrix=costs, random_state=0).fit(X, y)
    assert ConfusionDisplay.from_estimator(model, X, y).costs.tolist() == costs.tolist()
    with pytest.raises(ValueError, match="must be \\(2, 2\\)"):
        ConfusionDisplay.from_predictions([0, 1], [0, 1], cost_matrix=costs)


def test_code_matrices_of_reductions_and_of_algorithms(model: GambleClassifier) -> None:
    pairs = OneVsOneClassifier(estimator=GaussianNB()).fit(X, y)
    assert CodeMatrixDisplay.from_estimator(pairs).code.shape == (3, 3)
    assert CodeMatrixDisplay.from_code(np.eye(2)).classes.tolist() == [0, 1]
    with pytest.raises(TypeError, match="has no code"):
        CodeMatrixDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="classes by columns"):
        CodeMatrixDisplay.from_code([1, 2])


def test_class_importances_are_shares_in_order(model: GambleClassifier) -> None:
    display = ClassImportancesDisplay.from_estimator(model, n_features=3)
    assert_allclose(display.importances.sum(), 1)
    assert (np.diff(display.shown.sum(axis=1)) <= 0).all()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(X.columns[display.order])
    with pytest.raises(ValueError, match="2 names for 4"):
        ClassImportancesDisplay.from_estimator(model, feature_names=["a", "b"])


def test_decision_regions_say_what_the_model_says(model: GambleClassifier, tmp_path: Path) -> None:
    display = DecisionRegionsDisplay.from_estimator(model, X, y, features=(2, 3), n_points=12)
    table = pd.DataFrame(np.tile(X.median(), (144, 1)), columns=X.columns)
    table.iloc[:, [2, 3]] = display.grid.reshape(2, -1).T
    assert_allclose(display.probability.reshape(144, 3), model.predict_proba(table))
    assert len(display.ax_.collections) == 3
    display.figure_.savefig(tmp_path / "regions.png")
    assert (tmp_path / "regions.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="two column numbers from 0 to 3"):
        DecisionRegionsDisplay.from_estimator(model, X, y, features=(0, 4))


def test_given_axes_are_drawn_on(model: GambleClassifier) -> None:
    _, axes = mpl.pyplot.subplots(1, 3)
    assert MarginDisplay.from_estimator(model, X, y, ax=axes[0]).ax_ is axes[0]
    assert LearningCurveDisplay.from_estimator(model, ax=axes[1]).figure_ is axes[1].figure
    assert ExponentialLossDisplay().plot(ax=axes[2]).ax_ is axes[2]
