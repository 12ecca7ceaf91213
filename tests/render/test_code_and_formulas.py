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


UNSUPPORTED = [
    "",
    r"\frac{",
    "}{",
    "x" * (MAX_TEX_CHARS + 1),
    r"\text{好}",
    r"\text{速度} = 3",
    "x = 变量",
    "🙂",
    r"\unknown{x}",
    r"x + \ce{H2O}",
    r"\begin{foo}1\end{foo}",
    r"\begin{tikzpicture}x\end{tikzpicture}",
    "a & b",
    r"\includegraphics{x}",
]


@pytest.mark.parametrize("tex", UNSUPPORTED)
def test_what_cannot_be_drawn_is_none_and_never_an_error(tex):
    assert render_formula(tex, 15, False) is None


@pytest.mark.parametrize(
    "tex",
    [
        r"\boxed{x^2 = 4}",
        r"\boxed{\text{yes}}",
        r"\begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases}",
        r"\begin{equation} E = mc^2 \end{equation}",
        r"\begin{gather} a \\ b \end{gather}",
        r"\text{größer als привет}",
        r"a \ b\, c\quad d",
        r"\mathbb{R}^n \to \mathcal{L}",
        r"50\% \approx \frac12",
    ],
)
def test_what_models_often_write_can_be_drawn(tex):
    assert render_formula(tex, 15, True) is not None


def test_a_box_is_drawn_around_what_is_boxed():
    plain, boxed = render_formula("x", 20, True), render_formula(r"\boxed{x}", 20, True)
    assert plain is not None
    assert boxed is not None
    assert boxed.width > plain.width
    assert boxed.svg.count("<rect") + boxed.svg.count("<path") > plain.svg.count(
        "<rect"
    ) + plain.svg.count("<path")


def test_a_tag_stands_beside_its_formula_and_not_far_away():
    tagged = render_formula(r"x = 1 \tag{7}", 15, True)
    assert tagged is not None
    assert tagged.width < 150


def test_a_larger_size_gives_a_larger_formula():
    small, large = render_formula("x^2", 10, False), render_formula("x^2", 30, False)
    assert small is not None
    assert large is not None
    assert large.width > 2 * small.width


def test_the_text_form_can_be_read():
    assert formula_as_text(r"I \propto \frac{1}{\lambda^4}") == "I ∝ (1)/(λ^4)"
    assert formula_as_text(r"\text{速度}\,\leq 3") == "速度 ≤ 3"
    assert formula_as_text(r"\unknown{x}") == r"\unknown{x}"
