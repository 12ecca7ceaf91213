"""Kills the streaming app at random times and says what was lost: `python -m tests.app.probe_kill`.

Each round starts the real window (offscreen) with real threads and a scripted engine on the same
profile, waits until text streams, kills the process with SIGKILL at a random moment and reads the
database as the next start finds it. Compared is what the window had shown with what was stored:
every question that was asked must be there, and the answer up to at most a second before the kill.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from app.conversation import Reply
from app.conversation_database import open_store
from app.paths import paths_for
from tests.app.streaming_app import numbered

ROOT = Path(__file__).resolve().parents[2]
ALLOWED_LOSS_S = 1.0


@dataclass
class Shown:
    """What the window said that it had taken."""

    asked: list[str] = field(default_factory=list)
    pieces: list[tuple[float, int, int]] = field(default_factory=list)
    """Of the last question: monotonic seconds, characters of thinking, characters of answer."""

    def read(self, output: str) -> Shown:
        """Take all lines; the last may be cut."""
        for line in output.splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if "asked" in told:
                self.asked.append(told["asked"])
                self.pieces = []
            else:
                self.pieces.append((told["at"], told["thinking"], told["answer"]))
        return self


@dataclass(frozen=True)
class Round:
    """One kill: user turns that are gone, seconds of text that are gone, and how they were hurt."""

    asked: int
    lost_turns: int
    lost_s: float
    lost_characters: int
    wrong_text: bool


def stream_and_kill(
    profile: Path, after_s: float, tokens_per_s: float, sign: str = '"at"'
) -> tuple[Shown, float]:
    """Start the app, kill it that long after its first text, or after the first line with another
    `sign`; what it showed, and when it died.
    """
    command = [sys.executable, "-m", "tests.app.streaming_app", str(profile), str(tokens_per_s)]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    head = []
    while True:
        line = process.stdout.readline().decode()
        if not line:
            raise RuntimeError(f"the app ended by itself with {process.wait()}")
        head.append(line)
        if sign in line:
            break
    time.sleep(after_s)
    killed_at = time.monotonic()
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate()
    return Shown().read("".join(head) + rest.decode()), killed_at


def stored_of(profile: Path) -> list[tuple[str, Reply | None]]:
    """All questions with their replies, as the next start recovers them."""
    with closing(open_store(paths_for(profile).database_file, time.time()).store) as store:
        chats = [store.load(summary.conversation_id) for summary in store.summaries()]
        return [(e.question, e.reply) for chat in chats if chat for e in chat.exchanges]


def judge(shown: Shown, killed_at: float, stored: list[tuple[str, Reply | None]]) -> Round:
    """Compare what was shown with what is stored of this round's chat."""
    asked = [question for question, _ in stored]
    lost_turns = sum(question not in asked for question in shown.asked)
    replies = dict(stored)
    reply = replies.get(shown.asked[-1]) or Reply("")
    kept = (len(reply.thinking), len(reply.answer))
    lost = [piece for piece in shown.pieces if piece[1] > kept[0] or piece[2] > kept[1]]
    lost_s = killed_at - lost[0][0] if lost else 0.0
    characters = 0
    if shown.pieces:
        _, thinking, answer = shown.pieces[-1]
        characters = max(0, thinking - kept[0]) + max(0, answer - kept[1])
    wrong = not (
        numbered("t", 400).lstrip().startswith(reply.thinking)
        and numbered("a", 800).lstrip().startswith(reply.answer)
    )
    return Round(len(shown.asked), lost_turns, lost_s, characters, wrong)


def kill_rounds(
    kills: int, seed: int, longest_s: float, tokens_per_s: float, sign: str = '"at"'
) -> list[Round]:
    """So many kills, each on a profile of its own that the kills before it have not touched."""
    chance = random.Random(seed)
    rounds = []
    for number in range(kills):
        with tempfile.TemporaryDirectory(prefix="thinkpane-kill-") as folder:
            profile = Path(folder) / "profile"
            after_s = chance.uniform(0.0, longest_s)
            shown, killed_at = stream_and_kill(profile, after_s, tokens_per_s, sign)
            found = judge(shown, killed_at, stored_of(profile))
        rounds.append(found)
        print(
            f"kill {number + 1}: after {after_s:.3f} s, {found.asked} asked, "
            f"{found.lost_turns} turns lost, {found.lost_s:.2f} s of text lost "
            f"({found.lost_characters} characters)",
            flush=True,
        )
    return rounds


def main() -> int:
    """Print the figures; 1 where they are not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest-s", type=float, default=4.0)
    parser.add_argument("--tokens-per-s", type=float, default=900.0)
    parser.add_argument(
        "--at-question", action="store_true", help="count from the first question, not its reply"
    )
    found = parser.parse_args()
    sign = '"asked"' if found.at_question else '"at"'
    rounds = kill_rounds(found.kills, found.seed, found.longest_s, found.tokens_per_s, sign)
    turns = sum(each.lost_turns for each in rounds)
    losses = sorted(each.lost_s for each in rounds)
    wrong = sum(each.wrong_text for each in rounds)
    asked = sum(each.asked for each in rounds)
    print(
        f"{len(rounds)} kills at random times: {turns} of {asked} user turns lost; of the answer "
        f"the last {losses[-1]:.2f} s at worst, {losses[len(losses) // 2]:.2f} s in the middle; "
        f"{wrong} texts with a gap or a repetition"
    )
    return 0 if turns == 0 and wrong == 0 and losses[-1] <= ALLOWED_LOSS_S else 1


if __name__ == "__main__":
    sys.exit(main())
