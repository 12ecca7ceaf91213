"""Formulas inside a text document: drawn from SVG at paint time, so sharp at every scale."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from app.render.formulas import FormulaImage
from app.ui.kept_results import KeptResults

FORMULA_OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
_FIRST = QTextFormat.Property.UserProperty.value + 1
_TEX, _DISPLAY, _WAITS, _SVG, _WIDTH, _ASCENT, _DESCENT = range(_FIRST, _FIRST + 7)
OBJECT_CHARACTER = "￼"

MOST_RENDERED_CHARS = 500_000
"""Of SVG that a text keeps ready to be painted: more than a screen of formulas, in some 2 MB."""

_serials = itertools.count(1)


def formula_format(
    base: QTextCharFormat, tex: str, display: bool, image: FormulaImage
) -> QTextCharFormat:
    """Format of the object character that stands for the formula; it holds the picture itself."""
    text_format = QTextCharFormat(base)
    text_format.setObjectType(FORMULA_OBJECT)
    text_format.setProperty(_TEX, tex)
    text_format.setProperty(_DISPLAY, display)
    text_format.setProperty(_SVG, image.svg)
    text_format.setProperty(_WIDTH, image.width)
    text_format.setProperty(_ASCENT, image.ascent)
    text_format.setProperty(_DESCENT, image.descent)
    # Reaching a little into the space below the line is better than pushing the lines apart.
    reach = QFontMetrics(base.font()).descent() + base.font().pixelSize() / 4
    low = image.descent <= reach
    align = QTextCharFormat.VerticalAlignment
    # The two alignments whose baseline can be computed; see `_box`.
    text_format.setVerticalAlignment(align.AlignBaseline if low else align.AlignMiddle)
    return text_format


def waiting_format(base: QTextCharFormat) -> QTextCharFormat:
    """Format of the readable text that stands for a formula while it is being drawn."""
    text_format = QTextCharFormat(base)
    # A number of its own, so that Qt does not join two of them into one run of text.
    text_format.setProperty(_WAITS, next(_serials))
    return text_format


def without_waiting(text_format: QTextCharFormat) -> QTextCharFormat:
    """The format of the text around a formula that was waited for."""
    settled = QTextCharFormat(text_format)
    settled.clearProperty(_WAITS)
    settled.setFontItalic(False)
    return settled


def formula_source(text_format: QTextFormat) -> str:
    """TeX with dollar signs, for copying; empty where the format is not a formula's."""
    tex = text_format.property(_TEX)
    if not isinstance(tex, str):
        return ""
    return f"$${tex}$$" if text_format.property(_DISPLAY) else f"${tex}$"


class FormulaObject(QPyTextObject):
    """Sizes and paints formulas; one serves many documents."""

    def __init__(self, parent: QTextDocument) -> None:
        super().__init__(parent)
        self._renderers: KeptResults[tuple[str, str], QSvgRenderer] = KeptResults(
            MOST_RENDERED_CHARS, lambda key, renderer: len(key[0])
        )

    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:  # noqa: N803 - Qt's name
        """Width and height of the formula, at most as wide as the document."""
        box = self._box(doc, format)
        return QSizeF(box[0], box[1]) if box else QSizeF(0, 0)

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,  # noqa: N803 - Qt's name
        format: QTextFormat,
    ) -> None:
        """Paint the formula in the colour of its text."""
        box = self._box(doc, format)
        image = self._image(format)
        if box is None or image is None:
            return
        width, _, rise, scale = box
        height = (image.ascent + image.descent) * scale
        top = rect.top() + rise - image.ascent * scale
        color = format.toCharFormat().foreground().color().name()
        self._renderer(image, color).render(painter, QRectF(rect.left(), top, width, height))

    def _image(self, text_format: QTextFormat) -> FormulaImage | None:
        svg = text_format.property(_SVG)
        if not isinstance(svg, str):
            return None
        width, ascent, descent = (text_format.property(i) for i in (_WIDTH, _ASCENT, _DESCENT))
        return FormulaImage(svg, float(width), float(ascent), float(descent))

    def _box(
        self, doc: QTextDocument, text_format: QTextFormat
    ) -> tuple[float, float, float, float] | None:
        """Width, height, distance of the baseline from the top, and scale.

        Qt sets a baseline-aligned object a font's descent below the baseline: right for formulas
        that reach hardly lower. A middle-aligned one it sets `(height + x_height / 2) / 2` above
        it; then the height is chosen such that this holds both the ascent and the descent.
        """
        image = self._image(text_format)
        if image is None:
            return None
        room = doc.textWidth()
        scale = min(1.0, room / image.width) if room > 0 else 1.0
        ascent, descent = image.ascent * scale, image.descent * scale
        char_format = text_format.toCharFormat()
        below = QFontMetrics(char_format.font()).descent()
        baseline = QTextCharFormat.VerticalAlignment.AlignBaseline
        if char_format.verticalAlignment() == baseline:
            return image.width * scale, ascent + below, ascent, scale
        half_x = QFontMetricsF(char_format.font()).xHeight() / 2
        height = max(2 * ascent - half_x, 2 * descent + half_x)
        return image.width * scale, height, (height + half_x) / 2, scale

    def _renderer(self, image: FormulaImage, color: str) -> QSvgRenderer:
        key = (image.svg, color)
        renderer = self._renderers.get(key)
        if renderer is None:
            source = image.svg.replace("black", color)
            renderer = QSvgRenderer(QByteArray(source.encode()))
            renderer.setAspectRatioMode(Qt.AspectRatioMode.KeepAspectRatio)
            self._renderers.put(key, renderer)
        return renderer
