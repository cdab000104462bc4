"""RUSBoost: Seiffert, Khoshgoftaar, Van Hulse and Napolitano (2010); each tree sees as much of every class as there is of the smallest.

    paper                                     here
    S_t, of the minority's share              sampling="under": rows of each class, as heavy as the lightest class
    pseudo-loss, beta, D                      those of AdaBoost.M2 on all rows; the paper's pseudo-loss lacks the factor 1/2
    AdaBoost.M2                               booster="m2"; imbalanced-learn's class of this name is SAMME, booster="samme"

The booster is asked all questions; what is drawn is the learner's affair (see ``sampling``), so any other algorithm may be given the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manyboost.algorithms.sampled import SampledBooster
from manyboost.parameters import way_of_sampling


@dataclass(kw_only=True, eq=False, repr=False)
class RUSBoostClassifier(SampledBooster):
    """Boosting for classes of very different sizes: every round drops rows of the larger ones at random.

    Parameters
    ----------
    booster : {"m2", "samme"}
        AdaBoost.M2, as in the paper, or SAMME.

    References
    ----------
    Seiffert, Khoshgoftaar, Van Hulse, Napolitano: RUSBoost: A hybrid approach to alleviating class imbalance. IEEE SMC-A 40 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import RUSBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> RUSBoostClassifier(n_estimators=20, random_state=0).fit(X[40:], y[40:]).score(X, y) > 0.9
    True
    """

    sampling: Any = way_of_sampling("under")
