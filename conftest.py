"""What holds for every test and every example in a docstring."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def one_course_of_chance() -> None:
    """An estimator without ``random_state`` draws from numpy's global generator: it begins alike in every test, whatever ran before."""
    np.random.seed(0)  # noqa: NPY002 (that generator is what is meant)
