"""Support vector machines for all classes at once."""

from manyboost.svm.kernel import MulticlassSVC
from manyboost.svm.linear import LinearMulticlassSVC

__all__ = ["LinearMulticlassSVC", "MulticlassSVC"]
