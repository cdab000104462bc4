"""ManyBoost: multi-class boosting behind scikit-learn's API, on one fast and exact tree core."""

from manyboost.algorithms.abc_logitboost import ABCLogitBoostClassifier
from manyboost.algorithms.adaboost_mh import AdaBoostMHClassifier
from manyboost.algorithms.adaboost_ml import AdaBoostMLClassifier
from manyboost.algorithms.aoso_logitboost import AOSOLogitBoostClassifier
from manyboost.algorithms.gamble import GambleClassifier
from manyboost.algorithms.gentleboost import GentleBoostClassifier
from manyboost.algorithms.logitboost import LogitBoostClassifier
from manyboost.algorithms.mcboost import MCBoostClassifier
from manyboost.algorithms.piboost import PIBoostClassifier
from manyboost.algorithms.rebel import RebelClassifier
from manyboost.algorithms.samme import SAMMEClassifier
from manyboost.model_file import BadModelFile, fingerprint, load, save

__version__ = "0.1.0"
__all__ = [
    "ABCLogitBoostClassifier",
    "AOSOLogitBoostClassifier",
    "AdaBoostMHClassifier",
    "AdaBoostMLClassifier",
    "BadModelFile",
    "GambleClassifier",
    "GentleBoostClassifier",
    "LogitBoostClassifier",
    "MCBoostClassifier",
    "PIBoostClassifier",
    "RebelClassifier",
    "SAMMEClassifier",
    "fingerprint",
    "load",
    "save",
]
