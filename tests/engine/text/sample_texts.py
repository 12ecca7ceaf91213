"""Texts and conversations for tokenizer tests: made by hand and at random, the same every time."""

from __future__ import annotations

import random

from engine.api import ChatMessage, Role, ToolCall

HAND_MADE = (
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "\u00a0",
    "\u3000",
    "a",
    "Hello, world!",
    "It's we're I'LL they'd 'tis 'S",
    "def f(x: int) -> str:\n    return f'{x!r}'\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i]; }\r\n",
    '<div class="x">&amp;</div>',
    "a<b>c</b>",
    "SELECT * FROM t WHERE a <> 'b' -- c\n",
    "x\t\ty   z\n\n\n  w   ",
    "   leading",
    "trailing   ",
    "1234567890 3.14159 1,000,000 0x1F 1e-6 ½ ² ③ Ⅷ ४५",
    "你好，世界！",
    "東京都の天気は？",
    "안녕하세요 세계",
    "Привет, мир",
    "שלום עולם",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "ไทยไม่มีเว้นวรรค",
    "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🇫🇷🇩🇪 ☺️ 👍🏿",
    "cafe\u0301 é e\u0301\u0302 a\u030a Å \u212b \u2126 \u1e9b\u0323",
    "\u0915\u093c \u0958 ﬁ ① ㎏ ｶﾞ",
    "한글",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤a̶l̵g̷o",
    "\u200b\u200d\ufeff\u202e\u2066",
    "\x00\x01\x1f\x7f\x80",
    "𝕳𝖊𝖑𝖑𝖔 𐍈 🀄 \U0010ffff",
    "\ufffd",
    "a\ufffdb",
    "ﷺ" * 5,
    "=" * 80,
    "-" * 33 + "\n" + " " * 65,
    "aA1 bB2_cC3-dD4",
    "https://a.example/b?c=d&e=f#g",
    "user@example.org",
    "\\frac{a}{b} $x^2$ \\[\\int\\]",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "```python\nprint('x')\n```",
    "<|",
    "|>",
    "<",
    ">",
    "<think",
    "im_end",
    "</",
    "{{ x }} {% if %}",
    "null\nTrue\nNaN",
    "…—–“”‘’«»",
    "🤷🏻‍♂️" * 3,
    "a\u0300" * 20,
    "\n \n \n",
    " \n",
    "\n ",
    "a\n\nb\n",
    "!!!\n\n",
)
"""Without any control literal of Qwen3 or SmolLM2."""

_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz ",
    "ABCDEFGHIJ abcdefghij'",
    "0123456789 .,+-eE",
    " \t\n\r\u00a0\u2003\u3000",
    "(){}[];:=+-*/%&|^~!?.,\"'`_#@$\\<> \n",
    "的一是不了人我在有他这中大来上国，。！？",
    "あいうえおカキクケコ漢字ー。",
    "가나다라마바사아자차 한국어",
    "абвгдежзийклмн АБВГД",
    "اللغة العربية ",
    "हिन्दी में लिखा ",
    "\u0301\u0302\u0308\u030a\u0323\u0327aeiouncAEIOU",
    "😀😃👨👩👧🏽🏿\u200d\ufe0f🇫🇷🇩🇪🚀☺",
    "αβγδεζηθ∑∏∫√∞≠≤≥÷×",
)
_WORDS = (
    "the",
    "The",
    " of",
    "return",
    "self",
    "import",
    "\n    ",
    "\n\n",
    "  ",
    "它",
    "です",
    "1234",
    "é",
    "👩‍🚀",
    "don't",
    "I'm",
    "->",
    "==",
    "://",
    "\t",
    "Δt",
    "naïve",
    "don’t",
    "ﬀ",
    "\r\n",
    ".",
    ",",
)


def random_texts(count: int, seed: int = 20260) -> list[str]:
    """`count` texts of up to some 120 characters: one alphabet, several, words, any character."""
    source = random.Random(seed)
    texts = []
    for index in range(count):
        length = source.randint(1, 60)
        match index % 4:
            case 0:
                text = "".join(source.choices(source.choice(_ALPHABETS), k=length))
            case 1:
                text = "".join(source.choice(source.choice(_ALPHABETS)) for _ in range(length))
            case 2:
                text = "".join(source.choice(_WORDS) for _ in range(length // 2 + 1))
            case _:
                text = "".join(_any_character(source) for _ in range(length))
        texts.append(text)
    return texts


def _any_character(source: random.Random) -> str:
    """A character of any plane, low ones more often; never half of a surrogate pair."""
    limit = source.choice((0x80, 0x250, 0x3000, 0xD800, 0x110000))
    code_point = source.randrange(limit)
    return chr(code_point) if not 0xD800 <= code_point < 0xE000 else "\ufffd"


def all_texts(count: int) -> list[str]:
    """The hand-made texts, each alone and some joined, and random ones up to `count` in all."""
    joined = [first + second for first in HAND_MADE[:24] for second in HAND_MADE[:24]]
    made = [*HAND_MADE, *joined]
    return (made + random_texts(max(0, count - len(made))))[:count]


def _user(text: str) -> ChatMessage:
    return ChatMessage(Role.USER, text)


def _assistant(text: str, thinking: str = "", *calls: ToolCall) -> ChatMessage:
    return ChatMessage(Role.ASSISTANT, text, thinking, calls)


def _tool(text: str) -> ChatMessage:
    return ChatMessage(Role.TOOL, text)


_SYSTEM = ChatMessage(Role.SYSTEM, "You are a helpful assistant.")
_CALL = ToolCall("weather", '{"city": "Paris", "days": 2}')
_CALL_CJK = ToolCall("suche", '{"q": "天気 \\"x\\"", "n": [1, 2.5, null, true]}')

_BASES: tuple[tuple[ChatMessage, ...], ...] = (
    (_user("Hi"),),
    (_user(""),),
    (_user("  spaces \n\n"),),
    (_user("What is 2+2?"), _assistant("4"), _user("And 3+3?")),
    (_user("Why?"), _assistant("Because.", "Let me think.\nHm."), _user("Really?")),
    (_user("Why?"), _assistant("Because.", "\n\nnewlines around\n\n"), _user("")),
    (_user("a"), _assistant(""), _user("b"), _assistant("", "only thinking"), _user("c")),
    (_user("a"), _assistant("\n\nb\n\n"), _user("\nc\n")),
    (
        _user("weather?"),
        _assistant("", "", _CALL),
        _tool("sunny"),
        _assistant("Sunny."),
        _user("ok"),
    ),
    (_user("weather?"), _assistant("", "I need a tool.", _CALL), _tool("sunny")),
    (_user("two"), _assistant("Both:", "Two.", _CALL, _CALL_CJK), _tool("1"), _tool("2")),
    (_user("你好"), _assistant("你好！", "用户在问好。"), _user("👨‍👩‍👧‍👦 cafe\u0301")),
    (_user("def f():\n    pass\n"), _assistant("```python\nx < 1\n```"), _user("a <b> c > d")),
    (_user("last is assistant"), _assistant("yes", "thought")),
    (_user("q"), _assistant("a1", "t1"), _user("q2"), _assistant("a2", "t2"), _user("q3")),
)


def conversations() -> list[tuple[tuple[ChatMessage, ...], bool]]:
    """30 conversations with whether to think: each base once with a system message, once without.

    Both ways of thinking fall on both: the second half is turned round.
    """
    plain = [(base, index % 2 == 0) for index, base in enumerate(_BASES)]
    with_system = [((_SYSTEM, *base), index % 2 == 1) for index, base in enumerate(_BASES)]
    return plain + with_system
