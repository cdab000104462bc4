"""A generated table in place of one that cannot be had: texts of fifty authors as counts of ten thousand words.

The PIBoost paper's Amazon set has 1,500 reviews of 50 authors, 30 of each, and 10,000 columns of counts. This one has its shape and is made
up: words are as frequent as a power law of their ranks says, every author uses each of them more or less often than others do, a few of
them very much so, and every text departs somewhat from its author's habits. Errors on it say nothing of the errors on reviews.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_AUTHORS, N_TEXTS, N_WORDS = 50, 30, 10_000
LENGTH = 800  # words of a text, in the median
HABIT, TOPIC = 0.35, 0.5  # scales of the logarithms of frequencies: of an author's, which have heavy tails, and of a text's beside these
SEED = 0


def texts_of_authors() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The counts of words, (1500, 10000), and the author of each text.

    >>> X, author = texts_of_authors()
    >>> X.shape, len(set(author))
    ((1500, 10000), 50)
    """
    rng = np.random.default_rng(SEED)
    common = -np.log(np.arange(N_WORDS) + 2.7)
    author = np.repeat(np.arange(N_AUTHORS), N_TEXTS)
    habits = HABIT * np.clip(rng.standard_t(2, size=(N_AUTHORS, N_WORDS)), -6, 6)
    counts = np.empty((len(author), N_WORDS), np.float32)
    for row, writer in enumerate(author):
        frequency = np.exp(common + habits[writer] + TOPIC * rng.normal(size=N_WORDS))
        length = LENGTH * np.exp(0.4 * rng.normal())
        counts[row] = rng.poisson(length * frequency / frequency.sum())
    return pd.DataFrame(counts, columns=[f"word {rank + 1}" for rank in range(N_WORDS)]), author
