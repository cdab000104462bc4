"""SMOTEBoost: Chawla, Lazarevic, Hall and Bowyer (2003); each tree also sees new rows of the smaller classes.

    paper                                     here
    N synthetic examples of each minority     sampling="smote": until every class is as heavy as the heaviest
    k nearest neighbours                      k = 5; of a class of more than 20,000 rows, among so many that are drawn
    D of the synthetic examples               that of the row they were made from (the paper does not say)
    pseudo-loss, beta, D                      those of AdaBoost.M2 on the rows themselves; the paper's pseudo-loss lacks the factor 1/2
    AdaBoost.M2                               booster="m2", or booster="samme"

The booster is asked all questions; what is drawn is the learner's affair (see ``sampling``), so any other algorithm may be given the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manyboost.algorithms.sampled import SampledBooster
from manyboost.parameters import way_of_sampling


@dataclass(kw_only=True, eq=False, repr=False)
class SMOTEBoostClassifier(SampledBooster):
    """Boosting for classes of very different sizes: every round shows made-up rows between neighbours of the smaller ones.

    Parameters
    ----------
    booster : {"m2", "samme"}
        AdaBoost.M2, as in the paper, or SAMME.

    References
    ----------
    Chawla, Lazarevic, Hall, Bowyer: SMOTEBoost: Improving prediction of the minority class in boosting. PKDD (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import SMOTEBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> SMOTEBoostClassifier(n_estimators=20, random_state=0).fit(X[40:], y[40:]).score(X, y) > 0.9
    True
    """

    sampling: Any = way_of_sampling("smote")
