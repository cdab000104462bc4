"""Every algorithm of the registry, and settings that take other paths through the code. New algorithms are found by themselves."""

from __future__ import annotations

from typing import Any

from manyboost.algorithms import ALGORITHMS

N_ROUNDS = 5
SETTINGS: dict[str, list[dict[str, Any]]] = {  # beside the defaults
    "adaboost_mh": [{"leaves": "vote"}, {"grow_by": "classes", "splitter": "best", "weights": "balanced"}],
    "cwboost": [
        {"learners": "shared", "splitter": "best"},
        {"coefficients": "corrective", "max_depth": 2, "nu": 1e-3},
        {"coefficients": "corrective", "learners": "shared", "max_depth": 2, "splitter": "best", "nu": 1e-3},
    ],
    "piboost": [{"separators": "singles"}, {"separators": "all", "probability": "separators", "learner_weights": "cost"}],
    "rebel": [{"leaves": "shared"}],
    "structboost": [{"solver": "cutting_planes", "max_depth": 1, "subsample": 1.0, "C": 10.0, "tolerance": 0.2, "calibrate": False}],
    "samme": [{"criterion": "entropy", "splitter": "random", "max_leaf_nodes": 8}],
}


def each(**parameters: Any) -> list[Any]:
    """Every algorithm with its defaults but for ``parameters``."""
    return [algorithm(**{"n_estimators": N_ROUNDS, **parameters}) for algorithm in ALGORITHMS.values()]


def each_with_settings(**parameters: Any) -> list[Any]:
    """Every algorithm with its defaults, and with each of its settings above."""
    special = [
        ALGORITHMS[name](**{"n_estimators": N_ROUNDS, **setting, **parameters})
        for name, settings in SETTINGS.items()
        for setting in settings
    ]
    return each(**parameters) + special
