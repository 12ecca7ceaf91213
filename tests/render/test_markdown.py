"""What a model writes becomes blocks, and nothing in it is lost, loaded or run."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render.blocks import Code, Formula, Heading, Listing, Paragraph, Quote, Rule, Span, Table
from app.render.markdown import parse_markdown
from app.render.stream import MarkdownStream
from app.render.visible import with_visible_controls

PIECES = (
    "# A heading",
    "Plain text with **bold**, *italic* and `code`.",
    "1. one\n2. two",
    "1. one\n\n2. two\n\n   and more of two",
    "- a\n  - b\n- c",
    "```python\nx = 1\n\ny = 2\n```",
    "~~~\n```\n~~~",
    "Text right before\n```js\nlet a;\n```\nand right after.",
    "$$\nx^2\n\n+ 1\n$$",
    "\\[\n\\frac{1}{2}\n\\]",
    "| a | b |\n| --- | ---: |\n| 1 | $x$ |",
    "> quoted\n> twice",
    "---",
    "中文段落，没有空格。🙂",
    "An unfinished **bold and `code",
)


def test_each_kind_of_block_is_recognised():
    blocks = parse_markdown("\n\n".join(PIECES))
    kinds = {type(block) for block in blocks}
    assert kinds == {Heading, Paragraph, Listing, Code, Formula, Table, Quote, Rule}


def test_looks_of_text_are_kept_apart():
    (block,) = parse_markdown("a **b** *c* ~~d~~ `e` $f$ [g](https://h.example)")
    assert isinstance(block, Paragraph)
    assert block.spans == (
        Span("a "),
        Span("b", bold=True),
        Span(" "),
        Span("c", italic=True),
        Span(" "),
        Span("d", strike=True),
        Span(" "),
        Span("e", code=True),
        Span(" "),
        Span("f", formula=True),
        Span(" "),
        Span("g", link="https://h.example"),
    )


def test_stars_between_digits_are_products_and_not_emphasis():
    [paragraph] = parse_markdown("47*86\nones 7*6=42 and *not* 2*3*4, **5**")
    looks = [(span.text, span.italic, span.bold) for span in paragraph.spans]
    assert looks == [
        ("47*86\nones 7*6=42 and ", False, False),
        ("not", True, False),
        (" 2*3*4, ", False, False),
        ("5", False, True),
    ]


def test_formulas_in_brackets_are_formulas_and_prices_are_not():
    (block,) = parse_markdown("\\(x\\) costs $5 and $6")
    assert isinstance(block, Paragraph)
    assert block.spans == (Span("x", formula=True), Span(" costs $5 and $6"))


def test_html_stays_text():
    (block,) = parse_markdown(
        '<img src="https://x.example/a.png"> <script>alert(1)</script> <b>n</b>'
    )
    assert isinstance(block, Paragraph)
    assert block.spans[0].text.startswith("<img src=")
    assert "<script>alert(1)</script>" in block.spans[0].text


def test_an_image_becomes_its_words_and_is_not_an_image():
    (block,) = parse_markdown("![a cat](https://x.example/cat.png)")
    assert isinstance(block, Paragraph)
    assert block.spans == (Span("[image: a cat]", link="https://x.example/cat.png"),)


def test_a_single_line_break_stays_a_line_break():
    (block,) = parse_markdown("Name: x\nAge: 3")
    assert isinstance(block, Paragraph)
    assert block.spans == (Span("Name: x\nAge: 3"),)


def test_lists_remember_where_they_start_and_nest():
    (block,) = parse_markdown("3. a\n4. b\n   - c")
    assert isinstance(block, Listing)
    assert block.start == 3
    inner = block.items[1][1]
    assert isinstance(inner, Listing)
    assert inner.start is None


def test_table_columns_keep_their_alignment():
    (block,) = parse_markdown("| a | b | c |\n| :-- | :-: | --: |\n| 1 | 2 | 3 |")
    assert isinstance(block, Table)
    assert block.alignments == ("left", "center", "right")
    assert block.rows == (((Span("1"),), (Span("2"),), (Span("3"),)),)


def test_an_open_fence_says_so():
    open_block, closed_block = parse_markdown("```py\nx = 1"), parse_markdown("```py\nx = 1\n```")
    assert open_block == (Code("py", "x = 1", closed=False),)
    assert closed_block == (Code("py", "x = 1", closed=True),)


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, ">" * 20_000, "*a" * 50_000, "x" * 1_000_000, "![[" * 900, "> " * 1_000 + "a"],
)
def test_pathological_text_is_shown_whole_and_without_endless_work(text):
    began = time.process_time()
    blocks = parse_markdown(text)
    assert blocks
    # A bound against quadratic blow-up, hundreds of times what it takes; not a speed test.
    assert time.process_time() - began < 20


def test_deceiving_characters_are_made_visible():
    text = "safe\u202egnp.exe \u2066x\u2069 \u200e \x1b[31m \U000e0041"
    shown = with_visible_controls(text)
    assert "⟨U+202E⟩" in shown
    assert "⟨U+001B⟩" in shown
    assert "⟨U+E0041⟩" in shown
    assert not set(shown) & set("\u202e\u2066\u2069\u200e\x1b")
    (block,) = parse_markdown(text)
    assert isinstance(block, Paragraph)
    assert "⟨U+202E⟩" in block.spans[0].text


def test_emoji_families_and_tabs_are_left_alone():
    assert with_visible_controls("👨‍👩‍👧‍👦\t🇨🇳 ❤️\n") == "👨‍👩‍👧‍👦\t🇨🇳 ❤️\n"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.integers(1, 40))
def test_streamed_in_pieces_it_reads_as_if_it_came_at_once(pieces, size):
    text = "\n\n".join(pieces)
    stream = MarkdownStream()
    closed: list = []
    for start in range(0, len(text), size):
        stream.append(text[start : start + size])
        fresh, _tail = stream.take()
        closed.extend(fresh)
    stream.finish()
    fresh, tail = stream.take()
    assert tail == ()
    assert (*closed, *fresh) == parse_markdown(text)
    assert stream.text == text


def test_a_closed_block_is_given_once_and_never_again():
    stream = MarkdownStream()
    stream.append("one\n\ntwo\nand")
    assert stream.take() == ((Paragraph((Span("one"),)),), (Paragraph((Span("two\nand"),)),))
    stream.append(" more")
    assert stream.take() == ((), (Paragraph((Span("two\nand more"),)),))


def test_a_blank_line_inside_code_or_a_formula_closes_nothing():
    for opening in ("```py\nx = 1\n\n", "$$\nx\n\n", "\\[\nx\n\n"):
        stream = MarkdownStream()
        stream.append(opening + "y")
        closed, tail = stream.take()
        assert closed == ()
        assert tail


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="a*_`~[]()<>!$\\|#-+1. \n>​\u202e中", max_size=120))
def test_no_text_whatever_raises(text):
    parse_markdown(text)
