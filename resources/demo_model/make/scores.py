"""Fresh held-out problems from a seed, and the table of what was answered right."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from resources.demo_model.make.conversations import FOLLOW_UP, TASKS, Conversation, any_conversation
from resources.demo_model.make.problem import may_test, plain

MAX_NEW_TOKENS = 340
"""More than the longest right reply; a reply that gets there has not ended by itself."""

_SHOWN_MISTAKES = 4


@dataclass
class Score:
    """Of one task with thinking on or off."""

    asked: int = 0
    right: int = 0
    ended: int = 0
    mistakes: list[str] = field(default_factory=list)

    def add(self, conversation: Conversation, answer: str, *, ended: bool, reply: str) -> None:
        """Count one reply; `reply` is shown where the answer is wrong."""
        expected = plain(conversation.problem.answer)
        self.asked += 1
        self.ended += ended
        self.right += answer == expected
        if answer != expected and len(self.mistakes) < _SHOWN_MISTAKES:
            question = conversation.problem.question
            self.mistakes.append(f"{question!r}\n{reply}\nexpected {expected}")


def held_out(seed: int, per_task: int) -> list[Conversation]:
    """So many test conversations of every task, all different."""
    rng = random.Random(f"test {seed}")
    conversations = []
    for task in (*TASKS, FOLLOW_UP):
        seen: set[tuple[str, str]] = set()
        tries = 0
        while len(seen) < per_task and tries < 20 * per_task:
            tries += 1
            conversation = any_conversation(rng, task, may_test)
            mark = (conversation.problem.keys[0], conversation.problem.question)
            if mark not in seen:
                seen.add(mark)
                conversations.append(conversation)
    return conversations


def table(on: dict[str, Score], off: dict[str, Score]) -> str:
    """One line a task, then all of them."""
    lines = [f"{'task':<12}{'thinking':>10}{'without':>10}{'ended':>10}"]
    for task in on:
        lines.append(_line(task, on[task], off[task]))
    return "\n".join([*lines, _line("all", total(on), total(off))])


def total(scores: dict[str, Score]) -> Score:
    """All tasks as one."""
    every = scores.values()
    return Score(
        sum(s.asked for s in every), sum(s.right for s in every), sum(s.ended for s in every)
    )


def _line(name: str, on: Score, off: Score) -> str:
    ended = (on.ended + off.ended) / (on.asked + off.asked)
    return f"{name:<12}{on.right / on.asked:>10.1%}{off.right / off.asked:>10.1%}{ended:>10.1%}"
