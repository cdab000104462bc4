"""AdaBoost.MO: Schapire and Singer (1999), section 8; AdaBoost.MH on the bits of a fixed output code.

    paper                                     here
    code word of each class, bits in {-1,+1}  M, (K, c); 0 leaves the class out of the column's problem
    D_t(i, r), r a column                     state D, (n, c)
    h_t(x, r)                                 leaves of AdaBoost.MH, with the columns in the place of classes
    W+, W-  weight for +1, -1 in column r     W_plus, W_minus, (L, c)
    D <- D exp(-M(y_i, r) h(x_i, r))          update
    f(x, r) = sum_t h_t(x, r)                 the columns of scores
    argmin_k #{r: sign f_r != M_kr}           decode="hamming"
    argmin_k sum_r exp(-M_kr f_r)             decode="loss"; the scores are minus the logarithm of the sum
    argmax_k sum_r M_kr f_r                   decode="linear", the same with the loss -M f of Allwein, Schapire and Singer (2000)

With rho the least distance of two code words (without 0), error <= (c/rho) prod Z by the exponential loss and (2c/rho) prod Z by Hamming
distance. With M = 2I - J it is AdaBoost.MH but for the decoding. Probabilities are the softmax of the scores, for one column the sigmoid of
2f. Only the linear decoding does not depend on the scale of f: with "loss", ``calibrate`` may change a decision, with "hamming" it has no
effect, and with both the errors of ``history_`` (and of early stopping) are those of the linear decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import CODES, code_words, is_code
from manyboost.maths.decoding import decoded
from manyboost.maths.links import softmax
from manyboost.maths.rewards import rewards_of
from manyboost.maths.steps import NO_EDGE, clipped_error, confidences, half_log_odds, votes
from manyboost.maths.weights import Weights
from manyboost.parameters import checked, choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import exponential, newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostMOClassifier(BoostingClassifier):
    """AdaBoost on the bits of an output code: each class has a code word, and a tree's leaves hold a score for every bit.

    Parameters
    ----------
    code : "dense", "sparse", "exhaustive", "one_vs_all" or matrix of -1, 0, +1 of shape (n_classes, columns)
        Random code words of 10 log2 K bits, or 15 log2 K of which half are 0 (all ways to part the classes where K is at most 6); all ways
        to part the classes; each class against the others; or the given ones.
    decode : {"linear", "loss", "hamming"}
        The class whose code word agrees most with the scores, has the least exponential loss, or differs in the fewest bits.
    leaves : {"confidence", "vote"}
        Each leaf and bit has its own confidence, or votes +1 or -1 with one coefficient for the tree.
    grow_by : {"direction", "columns"}
        Choose splits along one random direction of bits a round, or by Z over all bits.
    smoothing, max_confidence, l2 : float
        As in AdaBoost.MH.

    References
    ----------
    Schapire, Singer: Improved boosting algorithms using confidence-rated predictions. Machine Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostMOClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostMOClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    code: Any = checked("dense", f"one of {', '.join(map(repr, CODES))}, or a matrix of -1, 0 and +1 with a row for each class", is_code)
    decode: str = choice("linear", "linear", "loss", "hamming")
    leaves: str = choice("confidence", "confidence", "vote")
    grow_by: str = choice("direction", "direction", "columns")
    smoothing: float = number(0.1, low=0)
    max_confidence: float = number(4.0, low=0, open_low=True)
    l2: float = number(1.0, low=0)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def decoder(self, K: int) -> Floats:
        """The code words as columns: (c, K)."""
        return np.ascontiguousarray(code_words(self.code, K, self._seed).T)

    def _bits(self, task: Task) -> Floats:
        return np.take(self.decoder(task.K).T, task.y, axis=0)  # (n, c)

    def start(self, task: Task) -> Weights:
        bits = self._bits(task)
        return Weights.of(task.weight[:, None] * np.abs(bits) / bits.shape[1])

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        bits = self._bits(task)
        c = bits.shape[1]
        for_and_against = Statistics.of_rows(np.hstack([D.values, D.values * (bits > 0)]))

        def rewards() -> Floats:
            return rewards_of(-(bits * D.values) @ self.decoder(task.K))

        if self.grow_by == "columns":
            return [Problem(for_and_against, exponential(c), rewards=rewards)]
        v = rng.standard_normal(c)
        along = Statistics.of_rows(np.column_stack([(v * bits * D.values).sum(axis=1), (v * v * D.values).sum(axis=1)]))
        return [Problem(along, newton(1, self.l2 * D.sum / task.N), for_and_against, rewards=rewards)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        total, W_plus = np.hsplit(leaves.sums, 2)  # (L, c)
        W_minus = total - W_plus
        if self.leaves == "vote":
            h = votes(W_plus, W_minus)
            error, perfect = clipped_error(float((1 - (h * (W_plus - W_minus)).sum() / total.sum()) / 2))
            alpha = float(half_log_odds(np.array(1 - error), np.array(error)))
            if alpha <= NO_EDGE:
                return Refusal(f"the Hamming error {error:.4f} of the tree is not below 1/2")
            return Answer(alpha * h, alpha, clipped=perfect, stop="a tree made no error" if perfect else None)
        c, size, clipped = confidences(W_plus, W_minus, self.smoothing * total.sum() / (task.N * total.shape[1]), self.max_confidence)
        return Answer(c, size, clipped) if size > NO_EDGE else Refusal("no leaf prefers any bit")

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        factors = np.exp(-gain.vectors[:, None] * self.decoder(task.K).T)  # (L, K, c)
        return D.updated(D.values * gain.at_classes(factors, task.y))

    def scores(self, columns: Floats) -> Floats:
        return decoded(columns * self.temperature_ if self.decode == "loss" else columns, self._decoder, self.decode)

    def link(self, columns: Floats) -> Floats:
        return softmax(decoded(columns, self._decoder, self.decode))
