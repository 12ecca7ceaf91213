"""What is told about the database of chats when it opens with trouble."""

from __future__ import annotations

from pathlib import Path

from app.language import translate


def newer_text(path: Path) -> str:
    """A newer version of the app has written it."""
    words = translate(
        "Store",
        "The chats in {path} were written by a newer version of Thinkpane and are left "
        "untouched. Chats of this session are kept until you close the window; install the "
        "newer version to see the others.",
    )
    return words.format(path=path)


def interrupted_text() -> str:
    """The app ended in the middle of a reply."""
    return translate(
        "Store",
        "Thinkpane ended while a reply was running. What had arrived is kept; Continue goes on.",
    )


def not_opened_text(path: Path, reason: str, *, disk_full: bool, shown: bool) -> str:
    """It cannot be written to; `shown` where the earlier chats could at least be read."""
    if disk_full:
        reason = translate("Store", "the disk is full")
        advice = translate("Store", "Free some space and start again.")
    else:
        advice = translate("Store", "Make the folder writable and start again.")
    if shown:
        words = translate(
            "Store",
            "The chats in {path} could not be opened for writing ({reason}). Earlier chats are "
            "shown, and new ones are kept until you close the window. {advice}",
        )
    else:
        words = translate(
            "Store",
            "The chats in {path} could not be opened for writing ({reason}). Chats of this "
            "session are kept until you close the window. {advice}",
        )
    return words.format(path=path, reason=reason, advice=advice)


def damaged_text(kept_as: Path, backup_time: str) -> str:
    """It was damaged; `backup_time` says when the backup that is shown was made, "" for none."""
    if not backup_time:
        words = translate(
            "Store",
            "The chat database was damaged. It is kept as {kept}; the list of chats starts empty.",
        )
        return words.format(kept=kept_as)
    words = translate(
        "Store",
        "The chat database was damaged. It is kept as {kept}; the chats are shown as they were in "
        "the backup of {time}.",
    )
    return words.format(kept=kept_as, time=backup_time)
