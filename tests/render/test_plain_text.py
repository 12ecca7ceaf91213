"""A text without Markdown signs keeps all of its words, marks and code."""

from app.render.markdown import parse_markdown
from app.render.plain_text import plain_text


def test_every_kind_of_block_reads_as_plain_lines():
    text = """# Head *line*

A **bold** [link](https://example.com) and `code`, $x$ and $$y$$.

- [x] done
- [ ] open
  1. inner
  2. two

     words

> quoted
>
> twice

| a | b |
| --- | --- |
| 1 | `2` |

---

```py
x = 1

y = 2
```

$$z$$
"""
    assert plain_text(parse_markdown(text)) == (
        "Head line\n\n"
        "A bold link and code, $x$ and $$y$$.\n\n"
        "- [x] done\n"
        "- [ ] open\n"
        "      1. inner\n"
        "      2. two\n"
        "         words\n\n"
        "> quoted\n>\n> twice\n\n"
        "a\tb\n1\t2\n\n"
        "---\n\n"
        "x = 1\n\ny = 2\n\n"
        "$$z$$"
    )


def test_it_ends_lines_with_lf_alone():
    assert "\r" not in plain_text(parse_markdown("a\r\nb\r\n\r\n- c\r\n"))
