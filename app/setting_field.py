"""What the panel and the settings file need to know of one setting."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from app.language import translate

Kind = Literal["bool", "int", "float", "text", "choice", "optional_int"]
Value = bool | int | float | str | None


class BadSetting(Exception):
    """A value that a setting cannot take (`name`, `value`, `expected`)."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        shown = repr(value)
        words = translate("Settings", "{name}: expected {expected}, found {found}")
        super().__init__(words.format(name=name, expected=expected, found=shown[:60]))
        self.name = name
        self.value = value
        self.expected = expected


@dataclass(frozen=True, slots=True)
class SettingField:
    """What the panel needs to know of one setting; `low`..`high` are inclusive.

    `choices` are (value, label) pairs; `none_label` is what an unset optional_int is called.
    """

    name: str
    kind: Kind
    default: Value
    label: str
    help: str
    section: str
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    decimals: int = 0
    choices: tuple[tuple[str, str], ...] = ()
    none_label: str = ""

    @property
    def expected(self) -> str:
        """The values it can take, in words."""
        if self.kind == "bool":
            return translate("Settings", "true or false")
        if self.kind == "choice":
            values = ", ".join(value for value, _ in self.choices)
            return translate("Settings", "one of {values}").format(values=values)
        if self.kind == "text":
            words = translate("Settings", "text of at most {count} characters")
            return words.format(count=f"{self.high:,.0f}")
        words = {
            "float": translate("Settings", "a number from {low} to {high}"),
            "int": translate("Settings", "a whole number from {low} to {high}"),
            "optional_int": translate(
                "Settings", "a whole number from {low} to {high}, or nothing"
            ),
        }[self.kind]
        low, high = (f"{limit:,.{self.decimals}f}" for limit in (self.low, self.high))
        return words.format(low=low, high=high)


def setting(kind: Kind, default: Value, **details: Any) -> Any:  # noqa: ANN401 - field specifier
    """A dataclass field with its description; Any, as `dataclasses.field` itself is typed."""
    return dataclasses.field(
        default=default, metadata={"setting": {"kind": kind, "default": default, **details}}
    )
