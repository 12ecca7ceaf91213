"""Long model texts for the probes: thinking with maths and code, an answer of many lines."""

from __future__ import annotations

import re

from app.conversation import Exchange, Reply, ReplyStatus
from engine.api import Channel
from engine.scripted_engine import ScriptedReply

_THOUGHT = """Let me check step {n} again. With $x_{{{n}}} = {n} + \\frac{{1}}{{{n}}}$ the sum is \
$\\sum_{{k=1}}^{{{n}}} k^2$, and the price of \\$5 does not matter here. So **{n}** is the bound, \
not `{n} - 1`.

1. First, take the {n}th case, where $a_{{{n}}} > 0$.
2. Then compare it with *the previous one*; 中文也一样。

$$\\int_0^{{{n}}} t^2 \\, dt = \\frac{{{n}^3}}{{3}}$$

```python
def step_{n}(values):
    # look at each value once
    return sum(value ** 2 for value in values if value > {n})
```

Hmm, wait. That is only true where the list is sorted, so I look at it from the other end.

"""
_SECTION = """## Part {n}

The result of part {n} is **{n}** for `n = {n}`, see $f_{{{n}}}(x) = x^{{{n}}} + \\alpha$ and the \
table below.

| case | value | share |
| --- | ---: | :---: |
| first | {n} | $\\frac{{1}}{{{n}}}$ |
| second | `{n}` | 50 % |

- one point with some words
- another point
  - and one below it
  - 家庭 👨‍👩‍👧‍👦 and a flag 🇨🇳

> What is quoted is not what was meant.

```python
for index in range({n}):
    total = total + index * {n}  # count
    if total > 1_000:
        print(f"over at {{index}}")
        break
```

$$\\begin{{aligned}} a &= {n} \\\\ b &= a^2 \\end{{aligned}}$$

"""


def thinking_of(token_count: int) -> tuple[str, ...]:
    """That many pieces of thinking, each about the length of a token."""
    pieces: list[str] = []
    number = 0
    while len(pieces) < token_count:
        number += 1
        pieces += _pieces(_THOUGHT.format(n=number))
    return tuple(pieces[:token_count])


def answer_of(line_count: int) -> tuple[str, ...]:
    """Pieces of an answer of at least that many lines."""
    sections: list[str] = []
    lines = number = 0
    while lines < line_count:
        number += 1
        sections.append(_SECTION.format(n=number))
        lines += sections[-1].count("\n")
    return _pieces("".join(sections))


def _pieces(text: str) -> tuple[str, ...]:
    """Cut as a tokenizer does, roughly: words with the blank before them, signs alone."""
    return tuple(re.findall(r"\n+| ?[A-Za-z]{1,9}| ?\d| ?[^\sA-Za-z\d]| +", text))


def long_reply(thinking_tokens: int, answer_lines: int) -> ScriptedReply:
    """The scripted reply of the streaming probe."""
    thinking = [(Channel.THINKING, piece) for piece in thinking_of(thinking_tokens)]
    answer = [(Channel.ANSWER, piece) for piece in answer_of(answer_lines)]
    return ScriptedReply((*thinking, *answer))


def long_chat(message_count: int, total_bytes: int) -> tuple[Exchange, ...]:
    """A chat of that many messages (questions and answers) and about that many UTF-8 bytes."""
    exchange_count = message_count // 2
    thought = _THOUGHT.format(n=7)
    section = _SECTION.format(n=7)
    room = total_bytes // exchange_count
    exchanges = []
    for number in range(exchange_count):
        answer = ""
        while len((answer + thought).encode()) < room:
            answer += section.replace("7", str(number + 1))
        reply = Reply(
            f"r{number}",
            thinking=thought.replace("7", str(number + 1)),
            answer=answer,
            status=ReplyStatus.DONE,
            finish_reason="end",
            thinking_tokens=120,
            answer_tokens=400,
            thinking_s=1.5,
            answer_s=3.0,
            thinking_closed=True,
        )
        exchanges.append(Exchange(f"e{number}", f"Question {number}: what is it?", (reply,)))
    return tuple(exchanges)
