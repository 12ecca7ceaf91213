"""What every test of the app's parts shares."""

import pytest

from tests.app.fakes import FakeStore


@pytest.fixture(autouse=True)
def every_fake_store_is_closed(monkeypatch):
    """From Python 3.13 on a database connection that is thrown away open is a warning."""
    opened = []
    begin = FakeStore.__init__

    def begin_and_remember(self, path):
        begin(self, path)
        opened.append(self.store)

    monkeypatch.setattr(FakeStore, "__init__", begin_and_remember)
    yield
    for store in opened:
        store.close()
