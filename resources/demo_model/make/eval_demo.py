"""Held-out accuracy of the shipped weights on the project's own engine: `make eval-demo SEED=n`.

Draws problems that training never saw (the split is by hash of the problem), asks each with
thinking on and off, greedily, and prints how many answers are right to the letter. With
`--temperature 0.6` it samples as the app does. Exit code 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import sys
import time

from resources.demo_model.make.conversations import Conversation
from resources.demo_model.make.engine_replies import load_engine, replies
from resources.demo_model.make.scores import Score, held_out, table, total

THINKING_GATE = 0.95
"""Share of right answers with thinking."""
LEAD_GATE = 0.05
"""How much better thinking must be than no thinking."""
ENDED_GATE = 0.99
"""Share of replies that end by themselves."""


def main() -> int:
    """Read the arguments, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the problems")
    parser.add_argument("--per-task", type=int, default=20, help="problems of each task")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--mistakes", action="store_true", help="show some wrong replies")
    arguments = parser.parse_args()
    conversations = held_out(arguments.seed, arguments.per_task)
    begin = time.monotonic()
    on, tokens_on = _scores(arguments, conversations, thinks=True)
    off, tokens_off = _scores(arguments, conversations, thinks=False)
    seconds = time.monotonic() - begin
    lines = [
        f"{len(conversations)} held-out problems, seed {arguments.seed}, "
        f"temperature {arguments.temperature}, {arguments.device}",
        table(on, off),
        f"{tokens_on + tokens_off} tokens in {seconds:.0f} s",
    ]
    if arguments.mistakes:
        lines += [f"-- {task}: {wrong}" for task in on for wrong in on[task].mistakes]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if _passes(total(on), total(off)) else 1


def _scores(
    arguments: argparse.Namespace, conversations: list[Conversation], *, thinks: bool
) -> tuple[dict[str, Score], int]:
    """The score of every task and the tokens that were generated."""
    engine = load_engine(arguments.device, slots=16)
    scores = {conversation.problem.task: Score() for conversation in conversations}
    tokens = 0
    try:
        for conversation, reply in replies(
            engine,
            conversations,
            thinks=thinks,
            temperature=arguments.temperature,
            seed=arguments.seed,
        ):
            shown = f"[{reply.thinking}] {reply.answer}"
            score = scores[conversation.problem.task]
            score.add(conversation, reply.answer, ended=reply.ended, reply=shown)
            tokens += reply.stats.generated_tokens
    finally:
        engine.close()
    return scores, tokens


def _passes(on: Score, off: Score) -> bool:
    with_thinking, without = on.right / on.asked, off.right / off.asked
    ended = (on.ended + off.ended) / (on.asked + off.asked)
    return (
        with_thinking >= THINKING_GATE
        and with_thinking - without >= LEAD_GATE
        and ended >= ENDED_GATE
    )


if __name__ == "__main__":
    sys.exit(main())
