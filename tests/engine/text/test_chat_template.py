"""The model's own template: rendered as transformers does, bounded, its faults named."""

from __future__ import annotations

from datetime import datetime

import pytest

from engine.errors import BadModelFile, BadRequest
from engine.text.chat_template import TEMPLATE_LIMIT_CHARACTERS, ChatTemplate

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "é"}]


def _render(source: str, **variables: object) -> str:
    return ChatTemplate(source, "model/tokenizer.json").render(MESSAGES, variables, True)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% for m in messages %}\n  {{ m.role }}\n{% endfor %}", "  user\n  assistant\n"),
        ("    {% if true %}x\n    {% endif %}", "x\n"),
        ("{{ {'a': '<é>\"', 'b': [1, none]} | tojson }}", '{"a": "<é>\\"", "b": [1, null]}'),
        ("{{ {'a': 1} | tojson(indent=2) }}", '{\n  "a": 1\n}'),
        ("{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "1"),
        ("{% generation %}a{{ 1 + 1 }}{% endgeneration %}b", "a2b"),
        ("{{ bos_token }}{{ 'a' ~ 1 ~ 'b' }}", "<s>a1b"),
        ("{{ messages | length }}{{ messages[::-1][0].content }}", "2é"),
        ("{% for m in messages %}{{ loop.index0 }}{{ loop.last }}{{ loop.length }}{% endfor %}",
         "0False21True2"),
        ("{{ add_generation_prompt }}{{ tools is none }}{{ missing is defined }}", "TrueTrueFalse"),
        ("{{ 'a,b'.split(',')[-1] }}{{ '%s!' % 'x' }}{{ '{}?'.format(3) }}{{ 'ab' * 2 }}",
         "bx!3?abab"),
        ("{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m('a') }}{{ namespace(a=1).a }}", "[a]1"),
        ("{{ 'ab' | center(4) }}{{ 'a\nb' | indent(2) }}", " ab a\n  b"),
    ],
)  # fmt: skip
def test_templates_render_as_in_transformers(source: str, text: str) -> None:
    assert _render(source, bos_token="<s>") == text


def test_the_date_is_todays() -> None:
    before = datetime.now().strftime("%Y-%m-%d")
    rendered = _render("{{ strftime_now('%Y-%m-%d') }}")
    assert before <= rendered <= datetime.now().strftime("%Y-%m-%d")


def test_a_template_may_refuse_the_messages() -> None:
    with pytest.raises(BadRequest, match="Roles must alternate"):
        _render("{{ raise_exception('Roles must alternate') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}",
        "{{ 'a' | nosuchfilter }}",
        "{% nosuchtag %}",
        "{{",
        "x" * (TEMPLATE_LIMIT_CHARACTERS + 1),
        "{% import 'os' as os %}{% block a %}{% block a %}",
    ],
)
def test_what_is_no_template_is_refused_when_loaded(source: str) -> None:
    with pytest.raises(BadModelFile, match="chat template"):
        ChatTemplate(source, "model/tokenizer.json")


@pytest.mark.parametrize(
    "source",
    [
        "{{ missing.attribute }}",
        "{{ 1 + 'a' }}",
        "{{ messages[0]['content'].nosuch() }}",
        "{{ 1 / 0 }}",
        "{% include 'other' %}",
        "{{ missing | tojson }}",
    ],
)
def test_a_failing_template_is_a_bad_file(source: str) -> None:
    with pytest.raises(BadModelFile, match="chat template"):
        _render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception.__globals__ }}{{ raise_exception.__globals__.x }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ messages.append({'role': 'user', 'content': 'x'}) }}",
        "{{ messages[0].update(role='system') }}",
        "{{ ('{0.__class__.__mro__}').format('') + 1 }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    with pytest.raises(BadModelFile, match="chat template"):
        _render(source)
    assert MESSAGES == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "é"}]


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
        "{{ f(60) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}"
        "{% endfor %}",
        "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}"
        "{% endfor %}",
        "{% set ns = namespace(s=['ab']) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}"
        "{% endfor %}",
        "{{ 'a' * 10000000000 }}",
        "{% set s = 'a' * 100000 %}{% for i in range(999) %}{{ s }}{% endfor %}",
        "{{ [1] * 10000000000 }}",
        "{{ 9 ** 99999 }}",
        "{{ 'a' | center(10000000000) }}",
        "{{ 'a' | indent(10000000000) }}",
        "{{ [1] | batch(10000000000, 'x') | list }}",
        "{{ [1] | slice(10000000000) | list }}",
        "{{ 'a'.ljust(10000000000) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%*d' % (9999999999, 1) }}",
        "{{ '{:9999999999}'.format(1) }}",
        "{{ '{:{}}'.format(1, 9999999999) }}",
        "{{ {'a': 1} | tojson(indent=9999999999) }}",
        "{% for i in range(10000000000) %}{% endfor %}",
        "{% set _thinkpane_budget = 1 %}{% for a in range(99999) %}{% for b in range(99999) %}"
        "{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_would_never_end_is_stopped(source: str) -> None:
    with pytest.raises(BadModelFile, match="chat template"):
        _render(source)


def test_long_conversations_are_within_the_bounds() -> None:
    messages = [{"role": "user", "content": "x" * 1000}] * 5_000
    template = ChatTemplate(
        "{% for m in messages %}{{ '<' ~ m.role ~ '>' + m.content.strip() }}{% endfor %}", "origin"
    )
    assert len(template.render(messages, {}, True)) == 5_000 * 1006
