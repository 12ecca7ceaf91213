"""What is kept of drawn formulas and coloured code has a limit, in size and in number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.render.code_colors import ColoredRun
from app.render.formulas import FormulaImage
from app.ui import color_source, formula_object, formula_source
from app.ui.code_block import CodeBlock
from app.ui.color_source import ColorSource
from app.ui.formula_object import FormulaObject
from app.ui.formula_source import FormulaSource, NoImage
from app.ui.kept_results import KeptResults
from app.ui.rich_text import RichText
from app.ui.theme import Theme


def of_length(most: int) -> KeptResults[str, str]:
    return KeptResults(most, lambda key, value: len(key) + len(value))


def test_the_oldest_go_first_once_all_together_are_too_large() -> None:
    kept = of_length(10)
    for key in "abcd":
        kept.put(key, "12")
    assert [kept.get(key) for key in "abcd"] == [None, "12", "12", "12"]
    assert (len(kept), kept.size) == (3, 9)


def test_a_large_one_takes_the_room_of_several() -> None:
    kept = of_length(10)
    for key in "abc":
        kept.put(key, "12")
    kept.put("d", "1234567")
    assert [kept.get(key) for key in "abcd"] == [None, None, None, "1234567"]


def test_the_newest_stays_though_it_alone_is_too_large() -> None:
    kept = of_length(10)
    kept.put("a", "1")
    kept.put("b", "1" * 50)
    assert (kept.get("a"), kept.get("b")) == (None, "1" * 50)
    kept.put("c", "1")
    assert (kept.get("b"), kept.size) == (None, 2)


def test_what_is_put_again_counts_once_and_is_the_newest() -> None:
    kept = of_length(9)
    for key, value in (("a", "12"), ("b", "12"), ("a", "1"), ("c", "12"), ("d", "1")):
        kept.put(key, value)
    assert [kept.get(key) for key in "abcd"] == ["1", None, "12", "1"]
    assert kept.size == 7


class Elsewhere:
    """Another thread that the test plays: does a job when it is told to."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def run(self, job: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        self.jobs.append((job, on_done))

    def finish(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job, on_done in jobs:
            on_done(job())


def test_a_formula_that_was_let_go_is_drawn_again(
    theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formula_source, "MOST_KEPT_CHARS", 5_000)
    formulas, elsewhere = FormulaSource(), Elsewhere()
    drawn: list[str] = []

    def draw(tex: str, size_px: int, display: bool) -> FormulaImage | None:
        drawn.append(tex)
        return FormulaImage("x" * 2_000, 1, 1, 1) if tex != "wrong" else None

    formulas.draw_with(elsewhere.run, draw)
    for tex in ("a", "wrong", "b", "c"):
        assert formulas.ask(tex, 15, False) is NoImage.COMING
        elsewhere.finish()
    assert isinstance(formulas.ask("c", 15, False), FormulaImage)
    assert isinstance(formulas.ask("b", 15, False), FormulaImage)
    assert formulas.ask("wrong", 15, False) is NoImage.IMPOSSIBLE
    assert drawn == ["a", "wrong", "b", "c"]
    assert formulas.ask("a", 15, False) is NoImage.COMING
    elsewhere.finish()
    assert isinstance(formulas.ask("a", 15, False), FormulaImage)


def test_a_formula_is_asked_for_once_while_it_is_coming(theme: Theme) -> None:
    formulas, elsewhere = FormulaSource(), Elsewhere()
    formulas.draw_with(elsewhere.run, lambda tex, size_px, display: None)
    for _ in range(3):
        assert formulas.ask("a", 15, False) is NoImage.COMING
    assert len(elsewhere.jobs) == 1


def test_code_whose_colours_were_let_go_is_coloured_again(
    theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(color_source, "MOST_KEPT_CHARS", 2_500)
    colors, elsewhere = ColorSource(), Elsewhere()
    colored: list[str] = []

    def color(source: str, language: str) -> tuple[tuple[ColoredRun, ...], ...]:
        colored.append(source[0])
        return ((ColoredRun(0, 1, "code_name"),),)

    colors.color_with(elsewhere.run, color)
    for letter in "abc":
        for _ in range(2):
            assert colors.ask(letter * 1_000, "python") is None
        elsewhere.finish()
    assert colors.ask("c" * 1_000, "python") is not None
    assert colors.ask("b" * 1_000, "python") is not None
    assert colored == ["a", "b", "c"]
    assert colors.ask("a" * 1_000, "python") is None


def test_the_same_code_under_differently_written_names_is_coloured_everywhere(
    theme: Theme,
) -> None:
    elsewhere = Elsewhere()
    theme.code_colors.color_with(elsewhere.run)
    blocks = [CodeBlock(theme), CodeBlock(theme)]
    for block, name in zip(blocks, ("Python", "python"), strict=True):
        block.show_code("def f(): pass", name, True)
    elsewhere.finish()
    for block in blocks:
        assert block.view.document().begin().layout().formats()


def test_a_text_keeps_few_formulas_ready_to_be_painted(
    theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formula_object, "MOST_RENDERED_CHARS", 3_000)
    text = RichText(theme, "text", scrolls=False)
    drawer = FormulaObject(text.document())
    images = [FormulaImage(f"<svg>{number}{' ' * 1_000}</svg>", 9, 9, 9) for number in range(6)]
    first = [drawer._renderer(image, "#000000") for image in images]
    assert drawer._renderer(images[-1], "#000000") is first[-1]
    assert drawer._renderer(images[0], "#000000") is not first[0]
