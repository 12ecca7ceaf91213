"""What every test of the app's parts shares."""

import pytest

from app.temporary_chats import TemporaryChats
from tests.app.fakes import FakeStore


@pytest.fixture(autouse=True)
def every_store_is_closed(monkeypatch):
    """From Python 3.13 on a database connection that is thrown away open is a warning."""
    opened = []

    def remember(made):
        begin = made.__init__

        def begin_and_remember(self, *arguments):
            begin(self, *arguments)
            opened.append(self)

        monkeypatch.setattr(made, "__init__", begin_and_remember)

    remember(FakeStore)
    remember(TemporaryChats)
    yield
    for each in opened:
        (each.store if isinstance(each, FakeStore) else each).close()
