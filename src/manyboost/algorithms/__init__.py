"""One file per algorithm; this one finds them."""

from importlib import import_module
from pkgutil import iter_modules

from manyboost.estimator import BoostingClassifier

ALGORITHMS: dict[str, type[BoostingClassifier]] = {}
for _module in iter_modules(__path__):
    _name = f"{__name__}.{_module.name}"
    for _value in vars(import_module(_name)).values():
        own = isinstance(_value, type) and issubclass(_value, BoostingClassifier) and _value.__module__ == _name
        if own and _value.__name__.endswith("Classifier"):
            ALGORITHMS[_module.name] = _value
