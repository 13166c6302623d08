"""The doctests of each adapter run if its library is installed."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_apps.language_models import adapters

NAMES = sorted(path.stem for path in Path(adapters.__path__[0]).glob("[a-z]*.py"))


@pytest.mark.filterwarnings("default")  # of the libraries
@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_an_adapter_run(name: str) -> None:
    try:
        module = importlib.import_module(f"{adapters.__name__}.{name}")
    except DependencyNotInstalled as error:
        pytest.skip(str(error))
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0
