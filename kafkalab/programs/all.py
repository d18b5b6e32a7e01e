"""Import every module of this package, so that its programs and scenarios are registered."""

from importlib import import_module
from pkgutil import iter_modules

from kafkalab import programs

for _module in iter_modules(programs.__path__):
    import_module(f"{programs.__name__}.{_module.name}")
