"""Displays of fitted models, one class for each, as in scikit-learn; matplotlib is imported when something is drawn."""

from manyboost.plots.similarity_regions import SimilarityRegionsDisplay

__all__ = ["SimilarityRegionsDisplay"]
