"""Compare classifiers as the papers do: data sets, protocols with shared folds, statistics, published tables and their reproduction.

Needs pandas: ``pip install "manyboost[evaluation]"``. Nothing else of the package imports this one.
"""

try:
    import pandas  # noqa: F401
except ImportError as error:
    raise ImportError('manyboost.evaluation needs pandas; install it with: pip install "manyboost[evaluation]"') from error

from manyboost.evaluation.datasets import DataSet, MissingDataSet, available, load, read_table
from manyboost.evaluation.protocols import FiftyTwentyFive, KFold, OfficialSplit
from manyboost.evaluation.runs import run
from manyboost.evaluation.statistics import Comparison, compare_errors, corrected_t_test

__all__ = [
    "Comparison",
    "DataSet",
    "FiftyTwentyFive",
    "KFold",
    "MissingDataSet",
    "OfficialSplit",
    "available",
    "compare_errors",
    "corrected_t_test",
    "load",
    "read_table",
    "run",
]
