"""pytest's marks, or a stand-in that ``run_all.py`` reads where pytest is not installed."""

from typing import Any, NamedTuple

try:
    import pytest

    cases, cuda = pytest.mark.parametrize, pytest.mark.cuda
except ImportError:

    class _Mark(NamedTuple):
        name: str
        args: tuple[Any, ...] = ()

        def __call__(self, function: Any) -> Any:
            function.pytestmark = [*getattr(function, "pytestmark", []), self]
            return function

    def cases(*arguments: Any) -> Any:
        """Stand in for ``pytest.mark.parametrize``."""
        return _Mark("parametrize", arguments)

    cuda = _Mark("cuda")
