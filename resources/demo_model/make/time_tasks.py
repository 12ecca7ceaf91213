"""Weekdays, clock times and units."""

from __future__ import annotations

import random

from resources.demo_model.make.column_arithmetic import multiply_keys, multiply_thinking
from resources.demo_model.make.problem import KNOWN, Problem
from resources.demo_model.make.wording import pick

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_DAYS_ZH = ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"]


_AFTER = """What day is {n} days after {day}?|What day comes {n} days after {day}?
Which day is {n} days after {day}?
Today is {day}. What day is it in {n} days?|If today is {day}, what day is it in {n} days?
{n} days after {day}?
Today is {day}. What day will it be {n} days from now?|what day is {n} days after {day}
{day} plus {n} days?
If today is {day}, what weekday will it be in {n} days?|What weekday is it {n} days after {day}?
今天是{zh}，{n}天后是星期几？"""
_BEFORE = """What day is {n} days before {day}?|What day was {n} days before {day}?
Which day is {n} days before {day}?
Today is {day}. What day was it {n} days ago?|If today is {day}, what day was it {n} days ago?
今天是{zh}，{n}天前是星期几？"""
_TOMORROW = (
    "Today is {day}. What day is tomorrow?|What day comes after {day}?"
    "|If today is {day}, what day is tomorrow?"
)
_YESTERDAY = (
    "Today is {day}. What day was yesterday?|What day comes before {day}?"
    "|If today is {day}, what day was yesterday?"
)


def weekday(rng: random.Random) -> Problem:
    """A day up to 100 days after or before another."""
    if rng.random() < 0.05:
        return _today(rng)
    start, forward = rng.randrange(7), rng.random() < 0.65
    n = (
        1
        if rng.random() < 0.08
        else rng.randint(1, 12)
        if rng.random() < 0.3
        else rng.randint(1, 100)
    )
    if n == 1 and rng.random() < 0.7:
        templates = _TOMORROW if forward else _YESTERDAY
    else:
        templates = _AFTER if forward else _BEFORE
    template = pick(rng, templates)
    question = template.format(n=n, day=DAYS[start], zh=_DAYS_ZH[start])
    if n == 1:
        question = question.replace("1 days", "1 day")
    return weekday_problem(start, n if forward else -n, question, chinese="{zh}" in template)


def _today(rng: random.Random) -> Problem:
    start, forward = rng.randrange(7), rng.random() < 0.5
    given = "Yesterday was" if forward else "Tomorrow is"
    ask = rng.choice(("What day is today?", "What day is it today?", "Which day is today?"))
    question = f"{given} {DAYS[start]}. {ask}"
    return weekday_problem(start, 1 if forward else -1, question)


def weekday_problem(
    start: int, shift: int, question: str, task: str = "weekday", *, chinese: bool = False
) -> Problem:
    """The weekday `shift` days after (negative: before) the day of number `start`."""
    sign, n = (1 if shift > 0 else -1), abs(shift)
    weeks, rest = divmod(n, 7)
    lines = [f"{n}=7*{weeks}+{rest}" if weeks else f"{n} days"]
    steps = [f"{i} {DAYS[(start + sign * i) % 7]}" for i in range(1, rest + 1)]
    lines.append(
        f"{'after' if sign > 0 else 'before'} {DAYS[start]}: {', '.join(steps) or 'same day'}"
    )
    day = (start + shift) % 7
    lines.append(DAYS[day])
    answer = f"{_DAYS_ZH[day]}。" if chinese else f"It is {DAYS[day]}."
    key = f"weekday {start} {shift}"
    return Problem(task, (key,), question, "\n".join(lines), answer, f"day {day}")


_LATER = """What time is it {d} after {t}?|What time is {d} after {t}?
It is {t}. What time is it in {d}?
It is {t}. What time will it be in {d}?|{t} plus {d}?|what time is it {d} after {t}|Add {d} to {t}.
A film starts at {t} and takes {d}. When does it end?|{t} + {d}
The train leaves at {t} and needs {d}. When does it arrive?"""
_EARLIER = """What time is it {d} before {t}?|What time is {d} before {t}?
It is {t}. What time was it {d} ago?
{t} minus {d}?|what time was it {d} before {t}"""
_BETWEEN = """How long is it from {s} to {t}?|How much time is between {s} and {t}?
How long from {s} to {t}?
How much time passes from {s} to {t}?|how long is it from {s} until {t}"""


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24}:{minutes % 60:02}"


def _duration(rng: random.Random, hours: int, minutes: int) -> str:
    hour = f"{hours} hour{'s' if hours != 1 else ''}"
    minute = f"{minutes} minute{'s' if minutes != 1 else ''}"
    if not hours or not minutes:
        return hour if hours else minute
    return rng.choice((f"{hour} and {minute}", f"{hour} {minute}", f"{hours} h {minutes} min"))


def clock(rng: random.Random) -> Problem:
    """A time up to 12 hours after or before another (24-hour clock), or the time between two."""
    start = rng.randrange(24 * 60) if rng.random() < 0.7 else 5 * rng.randrange(24 * 12)
    hours = rng.choice((0, 0, rng.randint(1, 12), rng.randint(1, 5)))
    minutes = rng.randint(1, 59) if rng.random() < 0.5 else 5 * rng.randrange(12)
    if not hours and not minutes:
        minutes = 15
    kind = rng.choice(("later", "later", "earlier", "between"))
    if kind == "between":
        return _between(rng, start, start + 60 * hours + minutes)
    shown = _clock(start)
    h, m = divmod(start, 60)
    duration = _duration(rng, hours, minutes)
    question = pick(rng, _LATER if kind == "later" else _EARLIER).format(d=duration, t=shown)
    if kind == "later":
        lines, end = _later_lines(h, m, hours, minutes)
    else:
        lines, end = _earlier_lines(h, m, hours, minutes)
    key = f"clock {kind} {shown} {hours}:{minutes}"
    return Problem("clock", (key,), question, "\n".join(lines), f"It is {_clock(end)}.")


def _later_lines(h: int, m: int, hours: int, minutes: int) -> tuple[list[str], int]:
    total, carry = m + minutes, 0
    line = f"minutes {m}+{minutes}={total}"
    if total >= 60:
        total, carry = total - 60, 1
        line += f", {m + minutes}-60={total}"
    lines = [f"{line} carry {carry}"]
    hour = h + hours + carry
    line = f"hours {h}+{hours}+{carry}={hour}"
    if hour >= 24:
        line += f", {hour}-24={hour - 24}"
    return [*lines, line, _clock(hour * 60 + total)], hour * 60 + total


def _earlier_lines(h: int, m: int, hours: int, minutes: int) -> tuple[list[str], int]:
    borrow = int(m < minutes)
    top = m + 60 * borrow
    line = f"minutes {m}+60={top}, " if borrow else "minutes "
    lines = [f"{line}{top}-{minutes}={top - minutes} borrow {borrow}"]
    need = hours + borrow
    line = f"hours {hours}+{borrow}={need}, "
    hour = h
    if h < need:
        hour = h + 24
        line += f"{h}+24={hour}, "
    left = hour - need
    lines.append(f"{line}{hour}-{need}={left}")
    end = left * 60 + top - minutes
    return [*lines, _clock(end)], end


def _between(rng: random.Random, start: int, end: int) -> Problem:
    s, t = _clock(start), _clock(end)
    end %= 24 * 60
    lines, left = _earlier_lines(end // 60, end % 60, *divmod(start, 60))
    hours, minutes = divmod(left, 60)
    parts = [f"{hours} hour{'s' if hours != 1 else ''}"] if hours else []
    parts += [f"{minutes} minute{'s' if minutes != 1 else ''}"] if minutes or not hours else []
    question = pick(rng, _BETWEEN).format(s=s, t=t)
    answer = f"It is {' and '.join(parts)}."
    return Problem("clock", (f"clock between {s} {t}",), question, "\n".join(lines), answer)


_UNITS = (
    *("km:m:1000", "m:cm:100", "cm:mm:10", "m:mm:1000", "kg:g:1000", "g:mg:1000", "l:ml:1000"),
    *("t:kg:1000", "hours:minutes:60", "minutes:seconds:60", "days:hours:24", "weeks:days:7"),
    *("years:months:12", "dozen:pieces:12", "hours:seconds:3600"),
)
_LONG = {
    "km": "kilometers", "m": "meters", "cm": "centimeters", "mm": "millimeters", "kg": "kilograms",
    "g": "grams", "mg": "milligrams", "l": "liters", "ml": "milliliters", "t": "tons",
}  # fmt: skip
_CONVERT = """How many {to} are {n} {of}?|How many {to} are in {n} {of}?
Convert {n} {of} to {to}.|{n} {of} in {to}
What is {n} {of} in {to}?|{n} {of} to {to}|How many {to} is {n} {of}?|convert {n} {of} into {to}
{n} {of} = ? {to}
{n} {of}等于多少{to}？"""


def units(rng: random.Random) -> Problem:
    """Whole numbers from a larger unit to a smaller one or back."""
    large, small, factor = rng.choice(_UNITS).split(":")
    scale = int(factor)
    wide = (scale % 10 == 0 and scale != 60) or rng.random() < 0.5
    n = 1 if rng.random() < 0.2 else rng.randint(1, 99 if wide else 20)
    if scale > 1000:
        n = rng.choice((1, rng.randint(1, 9)))
    back = scale <= 1000 and rng.random() < 0.35
    if back and scale % 10:
        n = rng.randint(1, 12)
    elif back and scale == 60:
        n = rng.randint(1, 24)
    of, to, count = (small, large, n * scale) if back else (large, small, n)
    style = rng.random() < 0.45
    of_shown, to_shown = (_LONG.get(u, u) if style else u for u in (of, to))
    if count == 1 and of_shown.endswith("s") and len(of_shown) > 2:
        of_shown = of_shown[:-1]
    shown: int | str = count
    if count == 1 and rng.random() < 0.6:
        shown = rng.choice(("one", "an" if of_shown == "hour" else "a"))
    question = pick(rng, _CONVERT).format(n=shown, of=of_shown, to=to_shown)
    lines = [f"1 {large} = {scale} {small}"]
    # "1 km in m" is no problem but what one has to know.
    known = KNOWN if count == 1 else ""
    keys: tuple[str, ...] = (f"{known}unit {count} {of} {to}",)
    if back:
        result = n
        lines.append(f"{count}/{scale}={n}, {n}*{scale}={count}")
    else:
        result = n * scale
        if scale in (10, 100, 1000):
            lines.append(f"{n}*{scale}={result}")
        else:
            lines += multiply_thinking(n, scale)
            keys += multiply_keys(n, scale)
    answer = f"{count} {of_shown} = {result} {to_shown}"
    return Problem("units", keys, question, "\n".join(lines), answer, result)


def follow_up(rng: random.Random, before: Problem) -> Problem | None:
    """Days that go on from the weekday that was found before."""
    if before.task != "weekday" or not isinstance(before.value, str) or "星" in before.answer:
        return None
    n, forward = rng.randint(1, 14), rng.random() < 0.7
    templates = (
        "and {n} days later?|And {n} days after that?|and in {n} more days?"
        if forward
        else "and {n} days before that?|and {n} days earlier?"
    )
    start = int(before.value.removeprefix("day "))
    question = pick(rng, templates).format(n=n)
    return weekday_problem(start, n if forward else -n, question, "follow-up")
