"""What all tests share."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of the tests' own: that of the user is left alone."""
    os.environ["OROGEN_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
