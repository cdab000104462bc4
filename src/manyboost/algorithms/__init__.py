"""One file per algorithm; this one finds them."""

from importlib import import_module
from pkgutil import iter_modules

from manyboost.estimator import BoostingClassifier

ALGORITHMS: dict[str, type[BoostingClassifier]] = {}
for _module in iter_modules(__path__):
    for _value in vars(import_module(f"{__name__}.{_module.name}")).values():
        if isinstance(_value, type) and issubclass(_value, BoostingClassifier) and _value is not BoostingClassifier:
            ALGORITHMS[_module.name] = _value
