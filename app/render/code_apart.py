"""Code blocks inside lists, taken out of them, so that each can have its frame and its Copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.render.blocks import Block, Code, Listing


@dataclass(frozen=True, slots=True)
class Placed:
    """A block, and at how many steps of indentation it stands."""

    block: Block
    depth: int = 0


def with_code_apart(blocks: Iterable[Block]) -> tuple[Placed, ...]:
    """The blocks in their order; a list with code in it becomes lists around that code.

    What follows the code in its item is a list that `continues`: its first item has no mark.
    """
    return tuple(placed for block in blocks for placed in _apart(block))


def _apart(block: Block) -> Iterator[Placed]:
    if not isinstance(block, Listing) or not _holds_code(block):
        yield Placed(block)
        return
    gathered: list[tuple[Block, ...]] = []
    checks: list[bool | None] = []
    continues = block.continues
    begin = 0
    for number, item in enumerate(block.items):
        own: list[Block] = []
        fresh = True
        for inner in item:
            parts = tuple(_apart(inner))
            if len(parts) == 1 and not isinstance(inner, Code):
                own.append(inner)
                continue
            for part in parts:
                if not isinstance(part.block, Code):
                    own.append(part.block)
                    continue
                gathered.append(tuple(own))
                checks.append(_check(block, number) if fresh else None)
                yield Placed(_listing(block, begin, gathered, checks, continues))
                yield Placed(part.block, part.depth + 1)
                gathered, checks, own = [], [], []
                begin, continues, fresh = number, True, False
        if own or fresh:
            gathered.append(tuple(own))
            checks.append(_check(block, number) if fresh else None)
        else:
            begin, continues = number + 1, False
    if gathered:
        yield Placed(_listing(block, begin, gathered, checks, continues))


def _holds_code(block: Listing) -> bool:
    return any(
        isinstance(inner, Code) or (isinstance(inner, Listing) and _holds_code(inner))
        for item in block.items
        for inner in item
    )


def _check(block: Listing, number: int) -> bool | None:
    return block.checks[number] if block.checks else None


def _listing(
    block: Listing,
    begin: int,
    items: list[tuple[Block, ...]],
    checks: list[bool | None],
    continues: bool,
) -> Listing:
    start = None if block.start is None else block.start + begin
    kept = tuple(checks) if block.checks else ()
    return replace(block, start=start, items=tuple(items), checks=kept, continues=continues)
