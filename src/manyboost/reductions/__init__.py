"""Multi-class problems as several binary ones."""

from manyboost.reductions.one_vs_all import OneVsAllClassifier
from manyboost.reductions.one_vs_one import OneVsOneClassifier
from manyboost.reductions.output_code import OutputCodeClassifier

__all__ = ["OneVsAllClassifier", "OneVsOneClassifier", "OutputCodeClassifier"]
