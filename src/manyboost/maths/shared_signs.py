"""REBEL's coefficients: one for each class, of leaves that say +1 or -1 and share them, or of a leaf of its own.

Numbers of equations are those of Appel and Perona (2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.steps import KAPPA, half_log_odds

Floats = NDArray[np.float64]
ROUNDS_OF_SIGNS = 20


def coefficients(right: Floats, wrong: Floats) -> Floats:
    """Eq. (4), both sums floored at 1e-6 of their total."""
    floor = KAPPA * (right + wrong)
    return np.nan_to_num(half_log_odds(np.maximum(right, floor), np.maximum(wrong, floor)), posinf=0.0, neginf=0.0)


def shared_coefficients(f: Floats, plus: Floats, minus: Floats) -> Floats:
    """Eq. (3) and (4) for leaves of signs f, (L,)."""
    up = f[:, None] > 0
    return coefficients(np.where(up, plus, minus).sum(axis=0), np.where(up, minus, plus).sum(axis=0))


def coefficients_and_signs(plus: Floats, minus: Floats) -> tuple[Floats, Floats]:
    """The sign of each leaf and the coefficient of each class, set for one another until nothing changes."""
    f = np.where(np.linalg.svd(plus - minus, full_matrices=False)[0][:, 0] >= 0, 1.0, -1.0)
    a = np.zeros(plus.shape[1])
    for _ in range(ROUNDS_OF_SIGNS):
        a = shared_coefficients(f, plus, minus)
        turned = np.where((plus - minus) @ np.sinh(a) >= 0, 1.0, -1.0)
        if (turned == f).all():
            break
        f = turned
    return a, f
