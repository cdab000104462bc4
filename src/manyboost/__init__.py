"""ManyBoost: multi-class boosting behind scikit-learn's API, on one fast and exact tree core."""

from manyboost.algorithms.adaboost_mh import AdaBoostMHClassifier
from manyboost.algorithms.cwboost import CWBoostClassifier
from manyboost.algorithms.piboost import PIBoostClassifier
from manyboost.algorithms.rebel import RebelClassifier
from manyboost.algorithms.samme import SAMMEClassifier
from manyboost.algorithms.structboost import StructBoostClassifier
from manyboost.model_file import BadModelFile, fingerprint, load, save

__version__ = "0.1.0"
__all__ = [
    "AdaBoostMHClassifier",
    "BadModelFile",
    "CWBoostClassifier",
    "PIBoostClassifier",
    "RebelClassifier",
    "SAMMEClassifier",
    "StructBoostClassifier",
    "fingerprint",
    "load",
    "save",
]
