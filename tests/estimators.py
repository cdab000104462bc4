"""Every algorithm of the registry, and settings that take other paths through the code. New algorithms are found by themselves."""

from __future__ import annotations

from typing import Any

from manyboost.algorithms import ALGORITHMS
from manyboost.learners import LocalizedSimilarity

N_ROUNDS = 5
SETTINGS: dict[str, list[dict[str, Any]]] = {  # beside the defaults
    "adaboost_ecc": [{"colouring": "max_cut", "votes": "asymmetric"}, {"colouring": "max_pair", "repartition": True, "max_depth": 2}],
    "adaboost_hm": [{"response": "label", "line_search": "bound"}],
    "adaboost_m2": [{"response": "probability", "grow_by": "r"}, {"grow_by": "classes", "sampling": "weight"}, {"grow_by": "direction"}],
    "adaboost_mh": [
        {"leaves": "vote"},
        {"grow_by": "classes", "splitter": "best", "weights": "balanced"},
        {"leaves": "label", "weights": "balanced", "sampling": "weight", "splitter": "best"},
        {"leaves": "probability", "weight_update": "literal"},
    ],
    "adaboost_mm": [{"line_search": "edge", "splitter": "best"}, {"grow_by": "direction"}],
    "adaboost_mo": [
        {"code": "one_vs_all", "decode": "hamming", "grow_by": "columns", "splitter": "best"},
        {"leaves": "vote", "decode": "loss"},
    ],
    "adaboost_mr": [{"leaves": "vote"}, {"grow_by": "labels", "splitter": "best"}],
    "adaboost_oc": [{"colouring": "max_cut_greedy"}],
    "abc_logitboost": [{"search": 2, "gap": 1, "warm_up": 1, "splitter": "best"}, {"search": None, "l2": 1.0}],
    "adaboost_ml": [{"splitter": "best", "max_depth": 3}],
    "aoso_logitboost": [{"splitter": "best", "l2": 1.0}],
    "gamble": [{"splitter": "best", "learning_rate": 1.0}],
    "gentleboost": [{"variant": "ova"}, {"damp": False, "learning_rate": 0.1, "splitter": "best"}],
    "logitboost": [{"trees": "shared"}, {"z_max": 3.0, "splitter": "best"}],
    "mcboost": [{"descent": "coordinate", "splitter": "random"}, {"leaves": "code", "splitter": "random"}],
    "cwboost": [
        {"learners": "shared", "splitter": "best"},
        {"coefficients": "corrective", "max_depth": 2, "nu": 1e-3},
        {"coefficients": "corrective", "learners": "shared", "max_depth": 2, "splitter": "best", "nu": 1e-3},
    ],
    "piboost": [{"separators": "singles"}, {"separators": "all", "probability": "separators", "learner_weights": "cost"}],
    "rebel": [
        {"leaves": "shared"},
        {"estimator": LocalizedSimilarity()},
        {"estimator": LocalizedSimilarity(response="sign", procedure="paper", metric="within", coincident="keep"), "line_search": "bound"},
    ],
    "structboost": [{"solver": "cutting_planes", "max_depth": 1, "subsample": 1.0, "C": 10.0, "tolerance": 0.2, "calibrate": False}],
    "samme": [{"criterion": "entropy", "splitter": "random", "max_leaf_nodes": 8}],
}


CALIBRATED = ("adaboost_mh", "samme", "piboost", "rebel")  # calibration knows no algorithm, so that these few will do


def _short(name: str, **parameters: Any) -> Any:
    return ALGORITHMS[name](**{"n_estimators": N_ROUNDS, "calibrate": "auto" if name in CALIBRATED else False, **parameters})


def each(**parameters: Any) -> list[Any]:
    """Every algorithm with its defaults but for ``parameters``."""
    return [_short(name, **parameters) for name in ALGORITHMS]


def each_with_settings(**parameters: Any) -> list[Any]:
    """Every algorithm with its defaults, and with each of its settings above."""
    special = [_short(name, **{**setting, **parameters}) for name, settings in SETTINGS.items() for setting in settings]
    return each(**parameters) + special
