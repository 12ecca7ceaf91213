"""A model's own chat template, rendered as Hugging Face renders it, in a sandbox with bounds.

Templates come with the model file, so they are untrusted code; `template_bounds` holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NoReturn

import jinja2

from engine.errors import BadModelFile, BadRequest
from engine.text.template_bounds import BoundedEnvironment, Budget

TEMPLATE_LIMIT_CHARACTERS = 1 << 20
"""Longest template that is compiled; those of real models have some 10,000 characters."""

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


def _raise_exception(message: object) -> NoReturn:
    raise _Refused(str(message))


def _strftime_now(time_format: str) -> str:
    return datetime.now().strftime(time_format)


def _fault(error: BaseException) -> str:
    # Some errors (memory) have no words of their own.
    return f"chat template: {str(error) or type(error).__name__}"


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
        environment = BoundedEnvironment()
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_now
        try:
            self._template = environment.compile_bounded(source)
        except (*_TEMPLATE_FAULTS, SyntaxError) as error:
            raise BadModelFile(origin, _fault(error)) from None

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
        budget = Budget(TEMPLATE_LIMIT_CHARACTERS + 4 * len(repr(messages)), len(messages))
        values = {
            **variables,
            "messages": messages,
            "tools": None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            **budget.variables,
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
            raise BadModelFile(self._origin, _fault(error)) from None
        return "".join(parts)
