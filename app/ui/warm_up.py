"""Draws one exchange that nobody sees while the window is idle, so that the first chat opens fast.

The first text of a process loads fonts, reads the style sheet for each kind of control and makes
Qt's classes known to Python: 60 ms that would fall on a key typed while the chat is being built.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from app.conversation import Exchange, Reply, ReplyStatus
from app.ui.exchange_widget import ExchangeWidget
from app.ui.pane_share import PaneShare
from app.ui.theme import Theme

PAUSE_MS = 30
"""Between two steps: keys and the start of the threads come first."""

_WIDTH = 900
WARM_TEXT = """## A *heading* with `code`

Text that is **bold**, *slanted*, ~~struck~~, `code`, a [link](https://example.org), 中文, ⚠️ 🙂.

- a point
  1. a number below it
- [x] done

| a | b |
| --- | ---: |
| 1 | **2** |

> quoted

---

```python
x = 1
```

$$x$$
"""


class WarmUp(QObject):
    """Ends by itself, and with its parent.

    Args:
        theme: as of the window.
        parent: a widget of the window, whose style sheet counts; nothing is shown in it.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._steps = self._draw(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(PAUSE_MS)
        self._timer.timeout.connect(self._on_step)
        self._timer.start()

    @property
    def is_over(self) -> bool:
        """Whether all is drawn, and gone again."""
        return not self._timer.isActive()

    def _on_step(self) -> None:
        if next(self._steps, None) is None:
            self._timer.stop()

    def _draw(self, parent: QWidget) -> Iterator[str]:
        """One step of less than 40 ms at a time."""
        reply = Reply("", thinking=WARM_TEXT, answer=WARM_TEXT, status=ReplyStatus.DONE)
        widget = ExchangeWidget(self._theme, PaneShare(self), parent)
        widget.hide()
        yield "made"
        widget.show_exchange(Exchange("", "?", (reply,)), is_last=True)
        yield "written"
        while widget.is_behind:
            widget.flush()
            yield "written"
        widget.resize(_WIDTH, widget.arrange(_WIDTH))
        yield "arranged"
        widget.render(QPixmap(widget.size()))
        yield "painted"
        widget.deleteLater()
