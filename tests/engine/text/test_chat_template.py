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
        ("{{ messages | map(attribute='role') | join(', ') }}", "user, assistant"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"),
        ("{{ ', '.join(messages | map(attribute='content')) | upper | replace('H', 'J') }}",
         "JI, É"),
        ("{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ v }}{% endfor %}", "a2b1"),
        ("{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}",
         "role=user;content=hi;"),
        ("{{ ['a', 'b'] }}{{ (1, 2) ~ [3] }}{{ {'k': [none]} | string }}",
         "['a', 'b'](1, 2)[3]{'k': [None]}"),
        ("{{ '%s-%s' | format('a', 1) }}{{ [1, 2] | sum }}{{ [[1], [2]] | sum(start=[]) }}",
         "a-13[1, 2]"),
        ("{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m] %}"
         "{% endfor %}{{ ns.l[1].role }}{{ 1000 * 1000 }}", "assistant1000000"),
        ("{% set a, b = 'xy'.upper(), [1] * 2 %}{{ a }}{{ b }}{{ 'x' in ['x', b] }}",
         "XY[1, 1]True"),
        ("{{ 'a\nb\n' | indent('> ', true) | trim }}", "> a\n> b"),
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
        "{{ ('a' * 900000) | replace('a', 'b' * 900000) }}",
        "{{ ('a' * 30000).replace('a', 'b' * 30000) }}",
        "{{ ('a' * 30000).replace('', 'b' * 900) }}",
        "{{ ('a\n' * 30000) | indent('b' * 30000) }}",
        "{{ ('x' * 900000).join(['a'] * 2000) }}",
        "{{ (['x'] * 2000) | join('a' * 900000) }}",
        "{{ ['x'] | batch(90000, 'a' * 900) | list }}",
        "{{ (range(90000) | map(attribute='x', default='a' * 900000)) | join }}",
        "{{ ''.join(range(90000) | map(attribute='x', default='a' * 900000)) }}",
        "{{ ('{0}' * 30000).format('b' * 900000) }}",
        "{{ ('%s' * 2) % (['b' * 90000] * 90000, 1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ 'a'.encode() * 9999999999 }}",
        "{{ ('\t' * 90000).expandtabs(90000) }}",
        "{{ (5).to_bytes(9999999999, 'little') }}",
        "{{ lipsum(n=100000000) }}",
        "{% set ns = namespace(x=3) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}"
        "{% endfor %}",
        *(
            "{% set ns = namespace(x=['ab']) %}{% for i in range(60) %}"
            f"{{% set ns.x = [ns.x, ns.x] %}}{{% endfor %}}{end}"
            for end in ("{{ ns.x }}", "{{ ns.x | tojson }}", "{{ ns.x ~ '' }}", "{{ '%s' % ns.x }}")
        ),
        "{{ namespace(x=1) }}{{ '{0.x}'.format(namespace(x=1)) }}",
        "{% set _thinkpane_budget = 1 %}{% for a in range(99999) %}{% for b in range(99999) %}"
        "{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_would_never_end_is_stopped(source: str) -> None:
    with pytest.raises(BadModelFile, match="chat template"):
        _render(source)


def test_running_out_of_memory_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    template = ChatTemplate("{{ raise_exception('x') }}", "origin")

    def full(values: object) -> None:
        raise MemoryError

    monkeypatch.setattr(template._template, "generate", full)
    with pytest.raises(BadModelFile, match="chat template: MemoryError"):
        template.render([], {}, True)


def test_long_conversations_are_within_the_bounds() -> None:
    messages = [{"role": "user", "content": "x" * 1000}] * 5_000
    template = ChatTemplate(
        "{% for m in messages %}{{ '<' ~ m.role ~ '>' + m.content.strip() }}{% endfor %}", "origin"
    )
    assert len(template.render(messages, {}, True)) == 5_000 * 1006
