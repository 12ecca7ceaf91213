"""What a model writes becomes blocks, and nothing in it is lost, loaded or run."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render.blocks import Code, Formula, Heading, Listing, Paragraph, Quote, Rule, Span, Table
from app.render.code_apart import Placed, with_code_apart
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


def formulas_in(text):
    return [
        span.text
        for block in parse_markdown(text)
        if isinstance(block, Paragraph)
        for span in block.spans
        if span.formula
    ]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "$5 or 10$ each",
        "between $5, $10 and 20$ total",
        "cost: 3$, 4$ and 5$",
        "US$5 to US$6",
        "price is \\$5 and \\$6",
        "echo $HOME/bin:$PATH",
        "$HOME and $PATH",
        "${HOME} or $HOME/$USER here",
        "set $A to $B and go on",
        "`$x` and `$y`",
        "$ x $",
    ],
)
def test_prices_and_shell_variables_are_not_formulas(text):
    assert formulas_in(text) == []
    (block,) = parse_markdown(text)
    assert "".join(span.text for span in block.spans) == text.replace("\\$", "$").replace("`", "")


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("\\(x\\) costs $5", ["x"]),
        ("the $n$th of $k$-many", ["n", "k"]),
        ("$a + b$ and $5$ and $ABC$", ["a + b", "5", "ABC"]),
        ("US$5 for $x^2$", ["x^2"]),
        ("**\\(y\\)** and \\[z\\] within", ["y", "z"]),
        ("$$x$$ in text", ["x"]),
    ],
)
def test_formulas_within_a_line_are_found(text, formulas):
    assert formulas_in(text) == formulas


@pytest.mark.parametrize(
    "text",
    [
        "so\n\\[ x\n- 3 \\]\nmore",
        "so\n$$x\n- 3$$\nmore",
        "so\n$$\nx\n- 3\n$$\nmore",
        "so\n\\[\nx\n- 3\n\\]\nmore",
    ],
)
def test_a_formula_right_below_a_line_of_text_has_lines_of_its_own(text):
    before, formula, after = parse_markdown(text)
    assert before == Paragraph((Span("so"),))
    assert formula == Formula("x\n- 3")
    assert after == Paragraph((Span("more"),))


def test_an_environment_needs_no_dollar_signs():
    tex = "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"
    assert parse_markdown(f"so\n{tex}\nok")[1] == Formula(tex)


def test_signs_of_formulas_in_code_are_code():
    (block,) = parse_markdown("```sh\necho $$\n\\[ $x \\]\n```")
    assert block == Code("sh", "echo $$\n\\[ $x \\]")


def test_tasks_have_boxes():
    (block,) = parse_markdown("- [ ] open\n- [x] **done**\n- plain\n- [y] no box")
    assert isinstance(block, Listing)
    assert block.checks == (False, True, None, None)
    assert block.items[0] == (Paragraph((Span("open"),)),)
    assert block.items[3] == (Paragraph((Span("[y] no box"),)),)


def test_code_in_a_list_stands_apart_and_the_numbers_go_on():
    text = "1. a\n   ```py\n   x\n   ```\n   more\n2. b\n3. c\n   - d\n     ```\n     y\n     ```"
    first, code, middle, inner = with_code_apart(parse_markdown(text))
    a, b, c = (Paragraph((Span(letter),)) for letter in "abc")
    assert first == Placed(Listing(1, ((a,),)))
    assert code == Placed(Code("py", "x"), 1)
    assert isinstance(middle.block, Listing)
    assert middle.block.continues
    assert middle.block.start == 1
    assert middle.block.items[:2] == ((Paragraph((Span("more"),)),), (b,))
    assert middle.block.items[2] == (c, Listing(None, ((Paragraph((Span("d"),)),),)))
    assert inner == Placed(Code("", "y"), 2)


def test_lists_without_code_are_left_as_they_are():
    blocks = parse_markdown("1. a\n   - b\n2. c\n\ntext")
    assert with_code_apart(blocks) == tuple(Placed(block) for block in blocks)


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


def taken(text, size=1_000_000, limit=0):
    """What a stream gives of the text, as (closed blocks, tails seen)."""
    stream, closed, tails = MarkdownStream(), [], []
    for start in range(0, len(text), size):
        stream.append(text[start : start + size])
        fresh, tail = stream.take(limit)
        closed += fresh
        tails.append(tail)
    stream.finish()
    while True:
        fresh, _ = stream.take(limit)
        closed += fresh
        if not stream.is_behind:
            return tuple(closed), tails


def test_taken_a_little_at_a_time_nothing_is_lost():
    text = "\n\n".join(PIECES) * 4
    assert taken(text, limit=50)[0] == parse_markdown("\n\n".join(PIECES) * 4)


def test_a_long_list_is_closed_item_by_item_and_counts_on():
    text = "".join(f"{n}. item {n} with words\n" for n in range(1, 400))
    closed, _ = taken(text, size=500)
    assert len(closed) > 3
    listed = [(block.start, len(block.items)) for block in closed]
    assert sum(count for _, count in listed) == 399
    assert all(start == 1 + sum(c for _, c in listed[:i]) for i, (start, _) in enumerate(listed))


def test_a_list_whose_numbers_do_not_count_stays_whole():
    text = "".join("1. the same number\n" for _ in range(200))
    (block,) = taken(text)[0]
    assert len(block.items) == 200


def test_a_long_paragraph_is_closed_at_its_line_breaks_but_not_inside_a_formula():
    text = "words and words, *all* of them here\n" * 100 + "a `b\n" + "c\n" * 50 + "d` e\n"
    stream = MarkdownStream()
    stream.append(text)
    closed, tail = stream.take()
    assert closed
    shown = "\n".join("".join(s.text for s in b.spans) for b in (*closed, *tail))
    assert shown.count("of them here") == 100
    assert any(
        span.code and "c c" in span.text for block in (*closed, *tail) for span in block.spans
    )


def test_an_open_block_of_absurd_length_is_shown_as_it_is():
    stream = MarkdownStream()
    stream.append("*a* " * 5_000)
    assert stream.take() == ((), (Paragraph((Span("*a* " * 5_000),)),))
    stream.finish()
    closed, _ = stream.take()
    assert closed


def tail_text(stream):
    """The open tail as letters."""
    _, tail = stream.take()
    return "".join(
        span.text for block in tail if isinstance(block, Paragraph) for span in block.spans
    )


def test_no_frame_shows_half_a_sign():
    stream = MarkdownStream()
    stream.append("family 👨\u200d")
    assert tail_text(stream) == "family 👨"
    stream.append("👩\u200d👧 flag \U0001f1e8")
    assert tail_text(stream) == "family 👨\u200d👩\u200d👧 flag"
    stream.append("\U0001f1f3")
    assert tail_text(stream).endswith("flag 🇨🇳")
    stream.append("\U0001f1e9")
    assert tail_text(stream).endswith("flag 🇨🇳")


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        ("$\\frac{a}{b}$", "\\frac{a}{b}"),
        ("\\(x^2\\)", "x^2"),
        ("$$x^2 + 1$$", "x^2 + 1"),
        ("\n\\[ x^2\n\\]\n", "x^2"),
    ],
)
def test_a_formula_on_its_way_is_not_shown_in_pieces(formula, tex):
    stream = MarkdownStream()
    seen = []
    for char in f"so {formula} is":
        stream.append(char)
        _, tail = stream.take()
        seen.append(
            [
                block.tex if isinstance(block, Formula) else span.text
                for block in tail
                for span in (block.spans if isinstance(block, Paragraph) else (Span(""),))
            ]
        )
    assert any(tex in texts for texts in seen)
    pieces = {text for texts in seen for text in texts if text != tex}
    assert not [text for text in pieces if any(sign in text for sign in "$^\\{")]


@pytest.mark.parametrize(
    "text", ["use $PATH for it", "it costs $5", "$5 and $7 or", "a $HOME is here"]
)
def test_prices_and_variables_are_not_held_back(text):
    stream = MarkdownStream()
    stream.append(text)
    assert tail_text(stream) == text


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Words:\n- one\n- two", {Paragraph, Listing}),
        ("Words:\n1. one\n2. two", {Paragraph, Listing}),
        ("Words:\n- [ ] one\n- [x] two", {Paragraph, Listing}),
        ("Words\n\n## Head\n\nmore", {Paragraph, Heading}),
        ("Words\n\n---\n\nmore", {Paragraph, Rule}),
        ("Words\n\n> quote", {Paragraph, Quote}),
        ("| a | b |\n| --- | :-: |\n| 1 | 2 |", {Table}),
        ("Words\n| a |\n| - |\n| 1 |", {Paragraph, Table}),
        ("Words\n```py\nx\n```", {Paragraph, Code}),
    ],
)
def test_no_frame_takes_the_beginning_of_a_block_for_something_else(text, kinds):
    stream = MarkdownStream()
    for char in text:
        stream.append(char)
        closed, tail = stream.take()
        assert {type(block) for block in (*closed, *tail)} <= kinds
        words = [span.text for b in tail if isinstance(b, Paragraph) for span in b.spans]
        assert not [each for each in words if set(each) & set("|#`>-[")]


def test_a_closing_fence_is_not_shown_as_code_while_it_comes():
    stream = MarkdownStream()
    stream.append("```py title\nx = 1\n")
    for char in "```":
        stream.append(char)
        _, (code,) = stream.take()
        assert code == Code("py", "x = 1", closed=False)
