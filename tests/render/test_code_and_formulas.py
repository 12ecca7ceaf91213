"""Code gets colours by line, formulas become SVG or readable text."""

import pytest

from app.render.code_colors import MAX_COLORED_CHARS, color_lines
from app.render.formulas import MAX_TEX_CHARS, formula_as_text, render_formula


def test_each_run_of_colour_covers_the_word_it_is_for():
    source = 'def f(x):\n    return "a"  # note\n\nf(12)'
    lines = color_lines(source, "python")
    texts = source.split("\n")
    found = {
        (run.kind, texts[row][run.start : run.start + run.length])
        for row, runs in enumerate(lines)
        for run in runs
    }
    assert ("code_keyword", "def") in found
    assert ("code_name", "f") in found
    assert ("code_comment", "# note") in found
    assert ("code_number", "12") in found
    assert len(lines) == 4


def test_a_string_over_several_lines_is_coloured_on_each():
    lines = color_lines('x = """a\nb\nc"""', "python")
    assert all(any(run.kind == "code_string" for run in runs) for runs in lines)


@pytest.mark.parametrize("language", ["", "no-such-language", "../../etc/passwd", "python; rm"])
def test_an_unknown_language_stays_plain(language):
    assert color_lines("a = 1\nb", language) == ((), ())


def test_very_long_code_stays_plain():
    assert not any(color_lines("x = 1\n" * MAX_COLORED_CHARS, "python"))


def test_a_formula_has_an_ascent_a_descent_and_plain_paths():
    image = render_formula(r"\frac{1}{\lambda^4}", 18, True)
    assert image is not None
    assert image.ascent > 0
    assert image.descent > 0
    assert "<path" in image.svg
    # Qt's SVG reader places these otherwise than browsers do.
    assert "<symbol" not in image.svg
    assert "<use" not in image.svg


def test_matrices_sums_and_roots_can_be_drawn():
    for tex in (
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        r"\sum_{i=0}^n i^2 = \frac{n(n+1)(2n+1)}{6}",
        r"\sqrt{a^2+b^2}",
        r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
    ):
        assert render_formula(tex, 15, True) is not None, tex


@pytest.mark.parametrize("tex", ["", r"\frac{", r"\text{好}", "x" * (MAX_TEX_CHARS + 1), "}{"])
def test_what_cannot_be_drawn_is_none_and_never_an_error(tex):
    assert render_formula(tex, 15, False) is None


def test_a_larger_size_gives_a_larger_formula():
    small, large = render_formula("x^2", 10, False), render_formula("x^2", 30, False)
    assert small is not None
    assert large is not None
    assert large.width > 2 * small.width


def test_the_text_form_can_be_read():
    assert formula_as_text(r"I \propto \frac{1}{\lambda^4}") == "I ∝ (1)/(λ^4)"
    assert formula_as_text(r"\text{速度}\,\leq 3") == "速度 ≤ 3"
    assert formula_as_text(r"\unknown{x}") == r"\unknown{x}"
