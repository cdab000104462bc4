"""ManyBoost: multi-class boosting behind scikit-learn's API, on one fast and exact tree core."""

from manyboost.algorithms.adaboost_mh import AdaBoostMHClassifier
from manyboost.algorithms.piboost import PIBoostClassifier
from manyboost.algorithms.rebel import RebelClassifier
from manyboost.algorithms.samme import SAMMEClassifier
from manyboost.model_file import BadModelFile, fingerprint, load, save
from manyboost.reductions import OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier
from manyboost.svm import LinearMulticlassSVC, MulticlassSVC

__version__ = "0.1.0"
__all__ = [
    "AdaBoostMHClassifier",
    "BadModelFile",
    "LinearMulticlassSVC",
    "MulticlassSVC",
    "OneVsAllClassifier",
    "OneVsOneClassifier",
    "OutputCodeClassifier",
    "PIBoostClassifier",
    "RebelClassifier",
    "SAMMEClassifier",
    "fingerprint",
    "load",
    "save",
]
