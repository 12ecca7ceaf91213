"""A model's own chat template, rendered as Hugging Face renders it, in a sandbox with bounds.

Templates come with the model file, so they are untrusted code: Jinja2's immutable sandbox keeps
them from Python, and a budget of steps, text and seconds keeps them from running for ever.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import NoReturn

import jinja2
import jinja2.filters
import jinja2.runtime
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import BadModelFile, BadRequest

TEMPLATE_LIMIT_CHARACTERS = 1 << 20
"""Longest template that is compiled; those of real models have some 10,000 characters."""

# Steps of one rendering: items of loops, and calls, which take some ten times as long. Qwen3's
# template needs about 40 for a message.
_STEP_LIMIT = 200_000
_STEPS_PER_MESSAGE = 2_000
_STEPS_PER_CALL = 10
_SECONDS_LIMIT = 30.0
_NUMBER_LIMIT = 100_000
_LONG_NUMBER = re.compile(r"\d{5,}|\*")
_BUDGET = "_thinkpane_budget"
_ITEMS = "_thinkpane_items"
_TEXT = "_thinkpane_text"
# Filters whose numbers say how much text or how many lists they make.
_SIZED_FILTERS = ("batch", "center", "indent", "slice", "truncate", "wordwrap")

_TEMPLATE_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Refused(jinja2.TemplateError):
    """The template itself refuses the messages, by `raise_exception`."""


class _Budget:
    """What one rendering may still use."""

    def __init__(self, text_limit: int, messages: int) -> None:
        self.text_limit = text_limit
        self._steps_left = _STEP_LIMIT + _STEPS_PER_MESSAGE * messages
        self._deadline = time.monotonic() + _SECONDS_LIMIT

    def take_steps(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0 or time.monotonic() > self._deadline:
            raise SecurityError("the template runs too long")

    def check_length(self, length: int) -> None:
        if length > self.text_limit:
            raise SecurityError(f"the template makes more than {self.text_limit:,} characters")

    @property
    def steps_left(self) -> int:
        return self._steps_left


def _budget_of(context: jinja2.runtime.Context) -> _Budget:
    # `parent` holds what `render` was given; a template's `set` cannot reach it.
    budget = context.parent[_BUDGET]
    assert isinstance(budget, _Budget)
    return budget


@jinja2.pass_context
def _bounded_items(context: jinja2.runtime.Context, iterable: Iterable[object]) -> list[object]:
    """The items of a loop, counted before it runs."""
    budget = _budget_of(context)
    items = list(itertools.islice(iterable, budget.steps_left + 1))
    budget.take_steps(len(items))
    return items


@jinja2.pass_context
def _bounded_text(context: jinja2.runtime.Context, text: str) -> str:
    """The result of `~`, which the sandbox does not let us intercept before it is made."""
    _budget_of(context).check_length(len(text))
    return text


def _check_numbers(arguments: Iterable[object]) -> None:
    for argument in arguments:
        if isinstance(argument, int) and abs(argument) > _NUMBER_LIMIT:
            raise SecurityError(f"the number {argument} is too large for a template")


def _with_checked_numbers(filter_function: Callable[..., object]) -> Callable[..., object]:
    @wraps(filter_function)
    def checked(*arguments: object, **named: object) -> object:
        _check_numbers((*arguments, *named.values()))
        return filter_function(*arguments, **named)

    return checked


def _to_json(  # the arguments that transformers' filter of this name takes
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    _check_numbers((indent,))
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: object) -> NoReturn:
    raise _Refused(str(message))


def _strftime_now(time_format: str) -> str:
    return datetime.now().strftime(time_format)


class _GenerationTag(Extension):
    """`{% generation %}` marks what the model wrote; for rendering, its body is all there is."""

    tags = {"generation"}  # noqa: RUF012 (Jinja2 declares it as a plain attribute)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The body of the tag, in place of the tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox and settings of `transformers`, every loop and call counted."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_GenerationTag, "jinja2.ext.loopcontrols"],
        )
        self.filters.update(
            {name: _with_checked_numbers(self.filters[name]) for name in _SIZED_FILTERS}
        )
        self.filters["tojson"] = _to_json
        self.filters[_ITEMS] = _bounded_items
        self.filters[_TEXT] = _bounded_text
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now

    def call_binop(
        self, context: jinja2.runtime.Context, operator: str, left: object, right: object
    ) -> object:
        """`left operator right`, refused where the result would be out of all proportion."""
        budget = _budget_of(context)
        if operator == "**":
            _check_numbers((left, right))
            if isinstance(right, int) and right > 64:
                raise SecurityError(f"the power {right} is too large for a template")
        elif operator == "%" and isinstance(left, str):
            if _LONG_NUMBER.search(left):
                raise SecurityError(f"the format {left[:80]!r} is too wide for a template")
        elif operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int):
                    budget.check_length(len(text) * times)
        elif operator == "+" and isinstance(left, str | list | tuple):
            budget.check_length(len(left) + (len(right) if hasattr(right, "__len__") else 0))
        return super().call_binop(context, operator, left, right)

    def call(
        self,
        context: jinja2.runtime.Context,
        called: object,
        /,
        *arguments: object,
        **named: object,
    ) -> object:
        """Call as the sandbox does; counted, and text methods with bounded numbers."""
        _budget_of(context).take_steps(_STEPS_PER_CALL)
        # `str.format` comes wrapped by the sandbox.
        method = getattr(called, "__wrapped__", called)
        text = getattr(method, "__self__", None)
        if isinstance(text, str):
            _check_numbers((*arguments, *named.values()))
            formats = getattr(method, "__name__", "").startswith("format")
            if formats and _LONG_NUMBER.search(text):
                raise SecurityError(f"the format {text[:80]!r} is too wide for a template")
        return super().call(context, called, *arguments, **named)


def _with_bounds(environment: _BoundedEnvironment, tree: nodes.Template) -> nodes.Template:
    """The syntax tree with every loop's items counted and every `~` measured."""
    for loop in tree.find_all(nodes.For):
        if isinstance(loop.iter, nodes.Expr):
            loop.iter = _filtered(environment, loop.iter, _ITEMS)
    for parent in list(tree.find_all((nodes.Node,))):
        for field, child in parent.iter_fields():
            if isinstance(child, nodes.Concat):
                setattr(parent, field, _filtered(environment, child, _TEXT))
            elif isinstance(child, list):
                child[:] = [
                    _filtered(environment, item, _TEXT) if isinstance(item, nodes.Concat) else item
                    for item in child
                ]
    return tree


def _filtered(environment: _BoundedEnvironment, inner: nodes.Expr, name: str) -> nodes.Filter:
    wrapped = nodes.Filter(inner, name, [], [], None, None, lineno=inner.lineno)
    wrapped.set_environment(environment)
    return wrapped


class ChatTemplate:
    """A compiled template; `render` may be called from several threads."""

    def __init__(self, source: str, origin: str) -> None:
        """Compile `source`; `origin` names the file that it came from.

        Raises:
            BadModelFile: it is too long or no Jinja2 template.
        """
        self.source = source
        self._origin = origin
        if len(source) > TEMPLATE_LIMIT_CHARACTERS:
            raise BadModelFile(
                origin,
                f"chat template: expected at most {TEMPLATE_LIMIT_CHARACTERS:,} characters, "
                f"found {len(source):,}",
            )
        environment = _BoundedEnvironment()
        try:
            tree = _with_bounds(environment, environment.parse(source))
            code = environment.compile(tree)
            self._template = jinja2.Template.from_code(environment, code, dict(environment.globals))
        except (*_TEMPLATE_FAULTS, SyntaxError) as error:
            raise BadModelFile(origin, f"chat template: {error}") from None

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        variables: Mapping[str, object],
        add_generation_prompt: bool,
    ) -> str:
        """The text of the messages, with the beginning of the reply if asked for.

        Raises:
            BadRequest: the template refuses these messages (roles that do not alternate, ...).
            BadModelFile: the template fails, or goes beyond its bounds.
        """
        budget = _Budget(TEMPLATE_LIMIT_CHARACTERS + 4 * len(repr(messages)), len(messages))
        values = {
            **variables,
            "messages": messages,
            "tools": None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            _BUDGET: budget,
        }
        parts: list[str] = []
        length = 0
        try:
            for part in self._template.generate(values):
                parts.append(part)
                length += len(part)
                budget.check_length(length)
        except _Refused as error:
            raise BadRequest(
                "messages", str(error), "messages that the model's chat template takes"
            ) from None
        except _TEMPLATE_FAULTS as error:
            raise BadModelFile(
                self._origin, f"chat template: {error or type(error).__name__}"
            ) from None
        return "".join(parts)
