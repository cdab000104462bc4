"""ManyBoost: multi-class boosting behind scikit-learn's API, on one fast and exact tree core."""

from manyboost.algorithms.abc_logitboost import ABCLogitBoostClassifier
from manyboost.algorithms.adaboost_ecc import AdaBoostECCClassifier
from manyboost.algorithms.adaboost_hm import AdaBoostHMClassifier
from manyboost.algorithms.adaboost_m1 import AdaBoostM1Classifier
from manyboost.algorithms.adaboost_m2 import AdaBoostM2Classifier
from manyboost.algorithms.adaboost_mh import AdaBoostMHClassifier
from manyboost.algorithms.adaboost_ml import AdaBoostMLClassifier
from manyboost.algorithms.adaboost_mm import AdaBoostMMClassifier
from manyboost.algorithms.adaboost_mo import AdaBoostMOClassifier
from manyboost.algorithms.adaboost_mr import AdaBoostMRClassifier
from manyboost.algorithms.adaboost_oc import AdaBoostOCClassifier
from manyboost.algorithms.aoso_logitboost import AOSOLogitBoostClassifier
from manyboost.algorithms.badacost import BAdaCostClassifier
from manyboost.algorithms.cost_sensitive_adaboost import CostSensitiveAdaBoostClassifier
from manyboost.algorithms.cwboost import CWBoostClassifier
from manyboost.algorithms.gamble import GambleClassifier
from manyboost.algorithms.gentleboost import GentleBoostClassifier
from manyboost.algorithms.logitboost import LogitBoostClassifier
from manyboost.algorithms.mcboost import MCBoostClassifier
from manyboost.algorithms.piboost import PIBoostClassifier
from manyboost.algorithms.rebel import RebelClassifier
from manyboost.algorithms.rusboost import RUSBoostClassifier
from manyboost.algorithms.samme import SAMMEClassifier
from manyboost.algorithms.smoteboost import SMOTEBoostClassifier
from manyboost.algorithms.structboost import StructBoostClassifier
from manyboost.blend import ManyBoostClassifier
from manyboost.model_file import BadModelFile, fingerprint, load, save
from manyboost.reductions import OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier
from manyboost.svm import LinearMulticlassSVC, MulticlassSVC

__version__ = "0.1.0"
__all__ = [
    "ABCLogitBoostClassifier",
    "AOSOLogitBoostClassifier",
    "AdaBoostECCClassifier",
    "AdaBoostHMClassifier",
    "AdaBoostM1Classifier",
    "AdaBoostM2Classifier",
    "AdaBoostMHClassifier",
    "AdaBoostMLClassifier",
    "AdaBoostMMClassifier",
    "AdaBoostMOClassifier",
    "AdaBoostMRClassifier",
    "AdaBoostOCClassifier",
    "BAdaCostClassifier",
    "BadModelFile",
    "CWBoostClassifier",
    "CostSensitiveAdaBoostClassifier",
    "GambleClassifier",
    "GentleBoostClassifier",
    "LinearMulticlassSVC",
    "LogitBoostClassifier",
    "MCBoostClassifier",
    "ManyBoostClassifier",
    "MulticlassSVC",
    "OneVsAllClassifier",
    "OneVsOneClassifier",
    "OutputCodeClassifier",
    "PIBoostClassifier",
    "RUSBoostClassifier",
    "RebelClassifier",
    "SAMMEClassifier",
    "SMOTEBoostClassifier",
    "StructBoostClassifier",
    "fingerprint",
    "load",
    "save",
]
