"""Counts, seconds and bytes as the window writes them."""

from __future__ import annotations

from app.conversation import CONTEXT_FULL, EDITED, MAX_NEW_TOKENS, Reply, ReplyStatus
from app.language import translate


def count(number: int) -> str:
    """1,096."""
    return f"{number:,}"


def tokens(number: int) -> str:
    """1,096 tokens."""
    return (
        translate("Wording", "1 token")
        if number == 1
        else translate("Wording", "{count} tokens").format(count=count(number))
    )


def live_seconds(seconds: float) -> str:
    """4.2 s; from a minute on 1 min 12 s."""
    if seconds < 60:
        return translate("Wording", "{seconds} s").format(seconds=f"{seconds:.1f}")
    minutes, rest = divmod(int(seconds), 60)
    return translate("Wording", "{minutes} min {seconds} s").format(minutes=minutes, seconds=rest)


def latency(seconds: float) -> str:
    """9 ms; from a second on 2.0 s."""
    if seconds < 1:
        return translate("Wording", "{milliseconds} ms").format(
            milliseconds=count(round(seconds * 1000))
        )
    return live_seconds(seconds)


def total_seconds(seconds: float) -> str:
    """12 s once it is over; below 10 s with one decimal."""
    return (
        live_seconds(seconds)
        if seconds < 10 or seconds >= 60
        else translate("Wording", "{seconds} s").format(seconds=round(seconds))
    )


def gigabytes(value_bytes: int) -> str:
    """1.7, in units of 10^9 bytes."""
    amount = value_bytes / 1e9
    return f"{amount:.0f}" if amount >= 100 or amount == int(amount) else f"{amount:.1f}"


def text_size(size_bytes: int) -> str:
    """980 bytes, 9.8 KB, 512 KB, 1.0 MB."""
    if size_bytes < 1000:
        return translate("Wording", "{count} bytes").format(count=size_bytes)
    amount, unit = (size_bytes / 1e3, "KB") if size_bytes < 999_500 else (size_bytes / 1e6, "MB")
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def no_answer(reply: Reply) -> str:
    """What stands in the place of an ended reply's answer; empty where it has one, or failed."""
    if reply.status in (ReplyStatus.RUNNING, ReplyStatus.FAILED) or reply.answer.strip():
        return ""
    if reply.status is not ReplyStatus.DONE:
        return translate("Wording", "No answer yet: it was cut before it began.")
    if reply.finish_reason in (MAX_NEW_TOKENS, CONTEXT_FULL):
        return translate("Wording", "No answer: the thinking took all the tokens there were.")
    if reply.thinking.strip():
        return translate("Wording", "No answer: the model ended after its thinking.")
    return translate("Wording", "No answer: the model ended at once.")


def stop_reason(reply: Reply) -> str:
    """Why the reply ended, in words; empty while it runs or after an error."""
    if reply.status in (ReplyStatus.RUNNING, ReplyStatus.FAILED):
        return ""
    if reply.status is ReplyStatus.INTERRUPTED:
        return translate("Wording", "interrupted when the app ended")
    reasons = {
        "end": translate("Wording", "stopped by itself"),
        "stop_text": translate("Wording", "stopped at a stop text"),
        "cancelled": translate("Wording", "stopped by you"),
        "max_new_tokens": translate("Wording", "reached the token limit"),
        "context_full": translate("Wording", "context full"),
        EDITED: translate("Wording", "edited by you"),
    }
    if reply.status is ReplyStatus.STOPPED:
        return reasons.get(reply.finish_reason, reasons["cancelled"])
    return reasons.get(reply.finish_reason, "")
