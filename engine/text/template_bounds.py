"""The sandbox that chat templates run in, with every way of running for ever or filling the memory
bounded.

Jinja2's immutable sandbox keeps a template from Python. What it does not bound is counted here:
steps (items of loops, calls) while they are taken, and the size of a value before an operation
makes it. A value's size is the number of its items and characters, a shared item counted each time
it occurs, as it would be written out.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from typing import cast

import jinja2
import jinja2.runtime
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg

# Steps of one rendering: items of loops, and calls, which take some ten times as long. Qwen3's
# template needs about 40 for a message.
_STEP_LIMIT = 200_000
_STEPS_PER_MESSAGE = 2_000
_STEPS_PER_CALL = 10
_SECONDS_LIMIT = 30.0
_NUMBER_LIMIT = 100_000
_BITS_LIMIT = 4_096
# How often the filters of one rendering may go over a text of the largest size.
_PASSES = 64
_LONG_NUMBER = re.compile(r"\d{5,}|\*")
_BUDGET = "_thinkpane_budget"
_ITEMS = "_thinkpane_items"
_SIZED = "_thinkpane_sized"

_CONTAINERS = (list, tuple, range, Set, ValuesView)

# Filters that write values out as text or make lists by number.
_SIZED_FILTERS = (
    "batch", "capitalize", "center", "e", "escape", "format", "indent", "join", "lower", "replace",
    "safe", "slice", "string", "sum", "title", "tojson", "trim", "truncate", "upper",
)  # fmt: skip
# No template of a model needs these, and each would need bounds of its own.
_REFUSED_FILTERS = (
    "filesizeformat", "forceescape", "pprint", "striptags", "urlencode", "urlize", "wordcount",
    "wordwrap", "xmlattr",
)  # fmt: skip
_REFUSED_METHODS = ("encode", "expandtabs", "maketrans", "translate")


class Budget:
    """What one rendering may still use."""

    def __init__(self, text_limit: int, messages: int) -> None:
        """`text_limit`: largest size of any value; `messages`: how many are rendered."""
        self.text_limit = text_limit
        self._steps_left = _STEP_LIMIT + _STEPS_PER_MESSAGE * messages
        self._size_left = _PASSES * text_limit
        self._deadline = time.monotonic() + _SECONDS_LIMIT

    def take_steps(self, steps: int) -> None:
        """Count steps. Raises SecurityError when none are left, or no time."""
        self._steps_left -= steps
        if self._steps_left < 0 or time.monotonic() > self._deadline:
            raise SecurityError("the template runs too long")

    def take_size(self, size: int) -> None:
        """Count what a filter goes over. Raises SecurityError as `take_steps`."""
        self._size_left -= size
        if self._size_left < 0:
            raise SecurityError("the template runs too long")

    def check_length(self, length: int) -> None:
        """Refuse a size above the limit by SecurityError."""
        if length > self.text_limit:
            raise SecurityError(f"the template makes more than {self.text_limit:,} characters")

    def size_of(self, value: object) -> int:
        """Items and characters of a value. Raises SecurityError above the limit.

        Values that are no data (a loop, a namespace) have no size: they are refused, since a format
        could reach what they hold.
        """
        size = 0
        waiting = [value]
        while waiting:
            item = waiting.pop()
            size += 1
            if isinstance(item, str):
                size += len(item)
            elif isinstance(item, Mapping):
                waiting.extend(item.keys())
                waiting.extend(item.values())
            elif isinstance(item, _CONTAINERS):
                waiting.extend(item)
            elif not (item is None or isinstance(item, int | float | jinja2.Undefined)):
                raise SecurityError(f"a {type(item).__name__} cannot become text")
            self.check_length(size + len(waiting))
        return size

    @property
    def steps_left(self) -> int:
        """Steps that may still be taken."""
        return self._steps_left

    @property
    def variables(self) -> dict[str, object]:
        """What must be among the variables of the rendering."""
        return {_BUDGET: self}


def _budget_of(context: jinja2.runtime.Context) -> Budget:
    # `parent` holds what `render` was given; a template's `set` cannot reach it.
    budget = context.parent[_BUDGET]
    assert isinstance(budget, Budget)
    return budget


@jinja2.pass_context
def _bounded_items(context: jinja2.runtime.Context, iterable: Iterable[object]) -> list[object]:
    """The items of a loop, counted before it runs."""
    budget = _budget_of(context)
    items = list(itertools.islice(iterable, budget.steps_left + 1))
    budget.take_steps(len(items))
    return items


@jinja2.pass_context
def _sized(context: jinja2.runtime.Context, value: object) -> object:
    """`value` itself, refused where it is too large to be written out."""
    if isinstance(value, str):
        _budget_of(context).check_length(len(value))
    elif isinstance(value, (Mapping, *_CONTAINERS)):
        _budget_of(context).size_of(value)
    return value


def _check_numbers(arguments: Iterable[object]) -> None:
    for argument in arguments:
        if isinstance(argument, int) and abs(argument) > _NUMBER_LIMIT:
            raise SecurityError(f"the number {argument} is too large for a template")


def _check_format(budget: Budget, template: str, sign: str, size: int) -> None:
    """Refuse a format string whose result could be too wide; `sign` begins a placeholder."""
    if _LONG_NUMBER.search(template):
        raise SecurityError(f"the format {template[:80]!r} is too wide for a template")
    budget.check_length(len(template) + template.count(sign) * size)


def _check_growth(budget: Budget, name: str, text: str, arguments: Sequence[object]) -> None:
    """Refuse `text.name(*arguments)` where it would make a text that is too long."""
    texts = [argument for argument in arguments if isinstance(argument, str)]
    if name == "replace" and len(texts) >= 2:
        budget.check_length(len(text) + text.count(texts[0]) * len(texts[1]))
    elif name == "indent" and texts:
        budget.check_length(len(text) + (text.count("\n") + 1) * len(texts[0]))


def _bounded_filter(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """The filter with its arguments measured before it runs."""
    passed = _PassArg.from_obj(function)

    @jinja2.pass_context
    def bounded(
        context: jinja2.runtime.Context, value: object, *arguments: object, **named: object
    ) -> object:
        budget = _budget_of(context)
        if isinstance(value, Iterator):
            value = list(itertools.islice(value, budget.steps_left + 1))
        others = (*arguments, *named.values())
        _check_numbers(others)
        size = budget.size_of(value)
        other_size = sum(map(budget.size_of, others))
        budget.take_size(size + other_size)
        if isinstance(value, str):
            _check_growth(budget, name, value, others)
        if name == "format":
            _check_format(budget, str(value), "%", other_size)
        elif name == "tojson":
            indents = [number for number in others if isinstance(number, int)]
            budget.check_length(size * (1 + max(indents, default=0)))
        elif name in ("batch", "join"):
            count = len(cast(Sequence[object], value)) if hasattr(value, "__len__") else 1
            numbers = [number for number in others if isinstance(number, int)]
            budget.check_length(size + max(count, *numbers, 0) * other_size)
        leading = {
            _PassArg.context: (context,),
            _PassArg.eval_context: (context.eval_ctx,),
            _PassArg.environment: (context.environment,),
            None: (),
        }[passed]
        return function(*leading, value, *arguments, **named)

    return bounded


def _to_json(  # the arguments that transformers' filter of this name takes
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


class _GenerationTag(Extension):
    """`{% generation %}` marks what the model wrote; for rendering, its body is all there is."""

    tags = {"generation"}  # noqa: RUF012 (Jinja2 declares it as a plain attribute)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The body of the tag, in place of the tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox and settings of `transformers`, everything counted or measured.

    What is rendered needs `Budget.variables` among its variables.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_GenerationTag, "jinja2.ext.loopcontrols"],
            finalize=_sized,
        )
        self.filters["tojson"] = _to_json
        for name in _SIZED_FILTERS:
            self.filters[name] = _bounded_filter(name, self.filters[name])
        for name in _REFUSED_FILTERS:
            del self.filters[name]
        del self.globals["lipsum"]
        self.filters[_ITEMS] = _bounded_items
        self.filters[_SIZED] = _sized

    def compile_bounded(self, source: str) -> jinja2.Template:
        """Compile with loops counted, and literals and the operands of `~` measured."""
        tree = self.parse(source)
        for loop in tree.find_all(nodes.For):
            loop.iter = self._filtered(loop.iter, _ITEMS)
        for parent in list(tree.find_all((nodes.Node,))):
            for field, child in parent.iter_fields():
                if isinstance(child, list):
                    child[:] = [self._measured(item, parent) for item in child]
                else:
                    setattr(parent, field, self._measured(child, parent))
        return jinja2.Template.from_code(self, self.compile(tree), dict(self.globals))

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """As in the sandbox; numbers have no attributes here, and texts fewer methods."""
        if isinstance(obj, int | float | bytes) or (
            isinstance(obj, str) and attr in _REFUSED_METHODS
        ):
            return False
        return super().is_safe_attribute(obj, attr, value)

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
            _check_format(budget, left, "%", budget.size_of(right))
        elif operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(value, str | list | tuple) and isinstance(times, int):
                    budget.check_length(budget.size_of(value) * times)
            if isinstance(left, int) and isinstance(right, int):
                bits = left.bit_length() + right.bit_length()
                if bits > _BITS_LIMIT:
                    raise SecurityError(f"a number of {bits} bits is too large for a template")
        elif operator == "+" and isinstance(left, str | list | tuple):
            # Lengths alone: templates collect messages one by one in a list.
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
        """Call as the sandbox does; counted, and text methods measured."""
        budget = _budget_of(context)
        budget.take_steps(_STEPS_PER_CALL)
        # `str.format` comes wrapped by the sandbox.
        method = getattr(called, "__wrapped__", called)
        text = getattr(method, "__self__", None)
        if isinstance(text, str):
            arguments = tuple(
                list(itertools.islice(a, budget.steps_left + 1)) if isinstance(a, Iterator) else a
                for a in arguments
            )
            given = (*arguments, *named.values())
            _check_numbers(given)
            name = getattr(method, "__name__", "")
            size = sum(map(budget.size_of, given))
            if name.startswith("format"):
                _check_format(budget, text, "{", size)
            elif name == "join" and given and hasattr(given[0], "__len__"):
                budget.check_length(size + len(given[0]) * len(text))
            else:
                _check_growth(budget, name, text, given)
        return super().call(context, called, *arguments, **named)

    def _measured(self, child: object, parent: nodes.Node) -> object:
        """The node, wrapped where its value has to be measured."""
        if isinstance(parent, nodes.Concat) and isinstance(child, nodes.Expr):
            return self._filtered(child, _SIZED)
        if isinstance(child, nodes.Concat):
            return self._filtered(child, _SIZED)
        is_literal = isinstance(child, nodes.List | nodes.Dict) or (
            isinstance(child, nodes.Tuple) and child.ctx == "load"
        )
        if is_literal and not isinstance(parent, nodes.Filter):
            return self._filtered(cast(nodes.Expr, child), _SIZED)
        return child

    def _filtered(self, inner: nodes.Node, name: str) -> nodes.Filter:
        wrapped = nodes.Filter(
            cast(nodes.Expr, inner), name, [], [], None, None, lineno=inner.lineno
        )
        wrapped.set_environment(self)
        return wrapped
