"""Weak learners beside the tree core: classifiers of scikit-learn's kind that stand alone or serve a booster, and similarities."""

from manyboost.learners.c45_tree import C45Tree
from manyboost.learners.localized_similarity import LocalizedSimilarity
from manyboost.learners.naive_bayes import NaiveBayes

__all__ = ["C45Tree", "LocalizedSimilarity", "NaiveBayes"]
