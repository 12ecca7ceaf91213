"""Thinking for addition, subtraction and multiplication: column by column, right to left.

Each column is one line: its name, one small sum, what is carried, and the result so far. Nothing is
skipped, so every next token follows from a few tokens before it.
"""

from __future__ import annotations

COLUMNS = ("ones", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands")


def _digit(number: int, column: int) -> int:
    return number // int(10**column) % 10


def add_thinking(a: int, b: int) -> list[str]:
    """Lines that add two numbers of any length; the last ends in the sum."""
    lines, carry, so_far = [f"{a}+{b}"], 0, ""
    for column in range(max(len(str(a)), len(str(b)))):
        x, y = _digit(a, column), _digit(b, column)
        total = x + y + carry
        carried = f"+{carry}" if carry else ""
        carry, so_far = total // 10, f"{total % 10}{so_far}"
        lines.append(f"{COLUMNS[column]} {x}+{y}{carried}={total} carry {carry}: {so_far}")
    if carry:
        lines.append(f"carry {carry}: {carry}{so_far}")
    return lines


def subtract_thinking(a: int, b: int) -> list[str]:
    """Lines that take b from a; the last ends in the difference, negative where b is larger."""
    sign = "<" if a < b else ">" if a > b else "="
    lines = [f"{a}-{b}: {a}{sign}{b}"]
    high, low = max(a, b), min(a, b)
    if a < b:
        lines.append(f"{high}-{low}")
    borrow, so_far = 0, ""
    for column in range(len(str(high))):
        x, y = _digit(high, column), _digit(low, column)
        left = x - y - borrow
        taken = f"-{borrow}" if borrow else ""
        borrow = int(left < 0)
        top = x + 10 * borrow
        so_far = f"{left % 10}{so_far}"
        lines.append(f"{COLUMNS[column]} {top}-{y}{taken}={left % 10} borrow {borrow}: {so_far}")
    if so_far != str(high - low):
        lines.append(f"drop zeros: {high - low}")
    if a < b:
        lines.append(f"minus: {a - b}")
    return lines


def row_thinking(a: int, digit: int) -> list[str]:
    """Lines that multiply a number by one digit; the last ends in the product."""
    lines, carry, so_far = [f"{a}*{digit}"], 0, ""
    for column in range(len(str(a))):
        x = _digit(a, column)
        total = x * digit + carry
        carried = f"={x * digit}+{carry}" if carry else ""
        carry, so_far = total // 10, f"{total % 10}{so_far}"
        lines.append(f"{COLUMNS[column]} {x}*{digit}{carried}={total} carry {carry}: {so_far}")
    if carry:
        lines.append(f"carry {carry}: {carry}{so_far}")
    if so_far.startswith("0") and not carry and len(so_far) > 1:
        lines.append(f"drop zeros: {a * digit}")
    return lines


def multiply_thinking(a: int, b: int) -> list[str]:
    """Lines that multiply by a number of one or two digits; the last ends in the product."""
    if len(str(a)) < len(str(b)):
        return [f"{a}*{b}={b}*{a}", *multiply_thinking(b, a)]
    if b < 10:
        return row_thinking(a, b)
    tens, ones = divmod(b, 10)
    row = row_thinking(a, tens)
    zero = f"add a zero: {a * tens * 10}"
    if not ones:
        return [f"{a}*{b}", *row, zero]
    split = f"{a}*{b}={a}*{ones}+{a}*{tens * 10}"
    return [split, *row_thinking(a, ones), *row, zero, *add_thinking(a * ones, a * tens * 10)]


def add_key(a: int, b: int) -> str:
    """The name of an addition, the same for both orders."""
    return f"add {min(a, b)} {max(a, b)}"


def multiply_keys(a: int, b: int) -> tuple[str, ...]:
    """The names of a multiplication and of the smaller problems that solve it."""
    keys = [f"mul {min(a, b)} {max(a, b)}"]
    if len(str(a)) < len(str(b)):
        a, b = b, a
    tens, ones = divmod(b, 10)
    if tens and ones:
        keys.append(add_key(a * ones, a * tens * 10))
    return tuple(keys)
