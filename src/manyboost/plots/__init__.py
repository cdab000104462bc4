"""Pictures as scikit-learn's Displays: ``XDisplay.from_estimator(...)`` or ``from_predictions(...)``, then ``plot(ax=...)``.

Needs matplotlib: ``pip install "manyboost[plot]"``. Each Display keeps what it drew in ``ax_`` and ``figure_``.
"""

from manyboost.plots.calibration import CalibrationDisplay
from manyboost.plots.class_importances import ClassImportancesDisplay
from manyboost.plots.code_matrix import CodeMatrixDisplay
from manyboost.plots.confusion import ConfusionDisplay
from manyboost.plots.critical_difference import CriticalDifferenceDisplay
from manyboost.plots.decision_regions import DecisionRegionsDisplay
from manyboost.plots.exponential_loss import ExponentialLossDisplay
from manyboost.plots.learning_curve import LearningCurveDisplay
from manyboost.plots.margin import MarginDisplay
from manyboost.plots.similarity_regions import SimilarityRegionsDisplay
from manyboost.plots.staged_error import StagedErrorDisplay

__all__ = [
    "CalibrationDisplay",
    "ClassImportancesDisplay",
    "CodeMatrixDisplay",
    "ConfusionDisplay",
    "CriticalDifferenceDisplay",
    "DecisionRegionsDisplay",
    "ExponentialLossDisplay",
    "LearningCurveDisplay",
    "MarginDisplay",
    "SimilarityRegionsDisplay",
    "StagedErrorDisplay",
]
