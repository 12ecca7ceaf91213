"""Whatever a model writes, nothing is loaded, opened, run or interpreted."""

import builtins
import io

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QTextCursor, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox

from app.chat_view import ModelChoice, ModelState, Notice
from app.conversation import ConversationSummary, ReplyStatus
from app.ui.link_guard import ask_to_open
from app.ui.rich_text import RichText
from tests.gui import scenes

HOSTILE = """<img src="http://127.0.0.1:9/a.png"> <img src="file:///etc/hostname">
![x](http://127.0.0.1:9/b.png) ![y](/etc/hostname) ![z](file:///etc/hostname)

<b>bold</b> <a href="javascript:alert(1)">x</a> <script>alert(1)</script>
<style>body{background:url(http://127.0.0.1:9/c.png)}</style>

[run](file:///bin/true) [run](javascript:alert(1)) [smb](smb://host/share) [rel](../../x.sh)
[good](https://example.com/a?b=c)

```html
<img src="http://127.0.0.1:9/d.png">
```

$$\\href{http://127.0.0.1:9}{x}$$ $\\includegraphics{/etc/hostname}$
"""


@pytest.fixture
def opened(monkeypatch):
    urls = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: urls.append(url.toString()))
    return urls


def test_no_text_of_a_model_loads_a_resource(window, monkeypatch):
    asked, files = [], []
    real = RichText.loadResource
    monkeypatch.setattr(
        RichText, "loadResource", lambda self, kind, url: asked.append(url) or real(self, kind, url)
    )
    for module in (builtins, io):
        real_open = module.open
        monkeypatch.setattr(
            module,
            "open",
            lambda path, *a, _o=real_open, **k: files.append(str(path)) or _o(path, *a, **k),
        )
    everywhere = scenes.exchange(question=HOSTILE, thinking=HOSTILE, answer=HOSTILE)
    scenes.show_chat(window, everywhere)
    QTest.qWait(150)
    window.grab()
    assert asked == []
    assert not [path for path in files if "hostname" in path]


def test_even_html_put_into_a_text_by_force_gets_no_resource(window):
    view = RichText(window.theme, "text", scrolls=False)
    kind = QTextDocument.ResourceType.ImageResource.value
    for url in ("file:///etc/hostname", "http://127.0.0.1:9/a.png", "/etc/hostname"):
        assert view.loadResource(kind, QUrl(url)) is None
    view.deleteLater()


def test_html_is_shown_letter_by_letter(window):
    scenes.show_chat(window, scenes.exchange(answer=HOSTILE))
    shown = window.transcript.exchange_widget("e1").answer.body.segments[0].toPlainText()
    assert "<b>bold</b>" in shown
    assert "<script>alert(1)</script>" in shown


def test_only_safe_links_are_links(window):
    scenes.show_chat(window, scenes.exchange(answer=HOSTILE))
    hrefs = set()
    for segment in window.transcript.exchange_widget("e1").answer.body.segments:
        if not isinstance(segment, RichText):
            continue
        block = segment.document().begin()
        while block.isValid():
            iterator = block.begin()
            while not iterator.atEnd():
                hrefs.add(iterator.fragment().charFormat().anchorHref())
                iterator += 1
            block = block.next()
    assert hrefs - {""} == {"https://example.com/a?b=c", "http://127.0.0.1:9/b.png"}


def answer_box(accept, seen):
    box = QApplication.activeModalWidget()
    assert isinstance(box, QMessageBox)
    seen.append(box.informativeText())
    role = QMessageBox.ButtonRole.AcceptRole if accept else QMessageBox.ButtonRole.RejectRole
    next(button for button in box.buttons() if box.buttonRole(button) == role).click()


def test_a_link_opens_only_after_a_yes_that_shows_all_of_it(window, opened):
    url = "https://example.com/a?b=c"
    seen = []
    QTimer.singleShot(50, lambda: answer_box(False, seen))
    ask_to_open(window, url)
    assert seen == [url]
    assert opened == []
    QTimer.singleShot(50, lambda: answer_box(True, seen))
    ask_to_open(window, url)
    assert seen == [url, url]
    assert opened == [url]
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not window.findChildren(QMessageBox)


@pytest.mark.parametrize(
    "url",
    ["file:///bin/true", "javascript:alert(1)", "smb://h/s", "../x", "https://a@evil.example"],
)
def test_a_dangerous_address_is_not_even_asked_about(window, opened, url, monkeypatch):
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: pytest.fail("it asked"))
    ask_to_open(window, url)
    assert opened == []


def test_a_click_on_a_link_asks_and_does_not_open(window, opened, monkeypatch, qtbot):
    asked = []
    monkeypatch.setattr("app.ui.rich_text.ask_to_open", lambda _view, url: asked.append(url))
    scenes.show_chat(window, scenes.exchange(answer="[good](https://example.com/x)"))
    QTest.qWait(80)
    (prose,) = window.transcript.exchange_widget("e1").answer.body.segments
    cursor = QTextCursor(prose.document())
    cursor.setPosition(2)
    place = prose.cursorRect(cursor).center()
    qtbot.mouseClick(prose.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert asked == ["https://example.com/x"]
    assert opened == []
    assert "good" in prose.toPlainText()
    assert prose.source().isEmpty()


def test_no_label_takes_any_text_for_markup(window):
    bad = "<b>x</b><img src='file:///etc/hostname'>"
    window.show_notice(Notice("n", bad, "error", (("retry", bad),)))
    window.show_conversations([ConversationSummary("c1", bad, 0.0, bad)], "c1")
    window.show_models([ModelChoice("m", bad, ModelState.DOWNLOADING, 0.1, bad)], "m")
    failed = scenes.exchange(status=ReplyStatus.FAILED, error_text=bad, answer="")
    scenes.show_chat(window, failed)
    window.show_memory_plan(bad, False)
    labels = window.findChildren(QLabel)
    assert len(labels) > 30
    guessing = [label for label in labels if label.textFormat() != Qt.TextFormat.PlainText]
    assert [label.text() for label in guessing if label.text()] == []
