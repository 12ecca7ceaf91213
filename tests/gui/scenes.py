"""Scripted states of the window: what a controller would tell it, through ChatView alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtTest import QTest

from app.chat_view import ChatState, ModelChoice, ModelState, Notice, Status
from app.conversation import Conversation, ConversationSummary, Exchange, Reply, ReplyStatus
from app.settings import Settings, with_value
from app.ui.main_window import MainWindow
from engine.api import Channel

QUESTION = "Why is the sky blue, and why are sunsets red? One formula is fine."
THINKING = """The user asks about Rayleigh scattering. I should say that air molecules are much \
smaller than the wavelength, so the scattered intensity goes with the inverse fourth power of the \
wavelength.

Blue is about 450 nm and red about 650 nm, so the ratio is $(650/450)^4 \\approx 4.35$. For a \
sunset the path through air is longer, so blue is scattered out of the line of sight and red \
is left.

Wait, why not violet? The sun emits less violet, some is absorbed high up, and eyes are less \
sensitive to it. I will mention this in one sentence. 好的。
"""
MORE_THINKING = """
Let me also check the geometry: near the horizon the optical path is roughly 38 times the zenith \
path, so for blue the optical depth is far above one, and what is left is orange and red.

"""
ANSWER = """Air molecules are much smaller than the wavelength of light, so they scatter short \
waves far more than long ones:

$$I \\propto \\frac{1}{\\lambda^4}$$

Blue light (about 450 nm) is scattered roughly **4.4 times** as much as red (about 650 nm), so the \
whole sky sends blue to your eyes.

At sunset light crosses much more air. Most blue is scattered away on the way, and what reaches \
you is red.

```python
ratio = (650 / 450) ** 4
print(f"{ratio:.2f}")   # 4.35
```
"""
RICH_ANSWER = """### Binary search, in short

1. Look at the **middle** of the sorted list.
2. If it is too large, keep the *left* half; otherwise the right one.
3. Repeat until it is found: about $\\log_2 n$ steps.

| list length | steps at most | linear search |
| ---: | ---: | ---: |
| 100 | 7 | 100 |
| 1,000,000 | 20 | 1,000,000 |

> Each step halves what is left, so doubling the list costs one step more.

The exact bound is $\\lfloor \\log_2 n \\rfloor + 1$, and the sum over all places is

\\[ \\sum_{i=1}^{n} \\left\\lceil \\log_2 (i + 1) \\right\\rceil \\approx n \\log_2 n \\]

```python
def search(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2   # never overflows in Python
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(items) and items[low] == wanted else None
```

Use `bisect.bisect_left` in practice; see [the documentation](https://docs.python.org/3/library/bisect.html).
"""
NASTY = (Path(__file__).parent / "nasty.md").read_text(encoding="utf-8")
CHINESE_QUESTION = "二进制搜索怎么写？请用 Python，并解释复杂度。🙂"
CHINESE_THINKING = """用户想要二分查找的代码。列表必须已经排好序，这一点要先说明。

每一步把范围缩小一半，所以最多 $\\log_2 n$ 步。我会给出一个短函数，再用一句话解释复杂度。👍🏽
"""
CHINESE_ANSWER = """二分查找要求列表**已经排好序**。每一步都和中间的元素比较，把范围缩小一半：

```python
def search(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle + 1      # 在右半边
        else:
            high = middle         # 在左半边
    return low
```

- 时间复杂度：$O(\\log n)$，一百万个元素最多 20 步。
- 空间复杂度：$O(1)$。

家庭表情 👨‍👩‍👧‍👦、旗帜 🇨🇳 和「全角标点」都应该正常显示。🎉
"""


def settle(window: MainWindow) -> None:
    """Let timers run until all that was told is drawn."""
    QTest.qWait(60)
    while window.transcript.is_behind:
        QTest.qWait(20)


def summaries(selected: str = "Why is the sky blue?") -> list[ConversationSummary]:
    now = time.time()
    day = 86_400
    return [
        ConversationSummary("c1", selected, now),
        ConversationSummary("c2", "二进制搜索怎么写", now - 1),
        ConversationSummary("c3", "Plan a week of dinners", now - 2),
        ConversationSummary("c4", "Explain RoPE like I am 12", now - day),
        ConversationSummary("c5", "Regex for dates", now - day - 1),
        ConversationSummary("c6", "17 × 23 step by step", now - 9 * day),
        ConversationSummary("c7", "Cover letter, second try", now - 10 * day),
    ]


def reply(**changes: object) -> Reply:
    values: dict[str, object] = {
        "reply_id": "r1",
        "thinking": THINKING,
        "answer": ANSWER,
        "status": ReplyStatus.DONE,
        "finish_reason": "end",
        "thinking_closed": True,
        "thinking_s": 12.4,
        "answer_s": 0.9,
        "thinking_tokens": 310,
        "answer_tokens": 182,
        "seed": 2_718_281_828,
    }
    return Reply(**(values | changes))  # type: ignore[arg-type]


def exchange(exchange_id: str = "e1", question: str = QUESTION, **changes: object) -> Exchange:
    return Exchange(exchange_id, question, (reply(reply_id=f"r-{exchange_id}", **changes),), 0)


def running(exchange_id: str = "e1", question: str = QUESTION, thinking_s: float = 0.0) -> Exchange:
    empty = Reply(f"r-{exchange_id}", status=ReplyStatus.RUNNING, thinking_s=thinking_s)
    return Exchange(exchange_id, question, (empty,), 0)


def furnish(window: MainWindow, settings: Settings | None = None) -> None:
    """What every state has: chats, a model, numbers, settings."""
    window.show_settings(settings or with_value(Settings(), "thinking_budget_tokens", 2048))
    window.show_conversations(summaries(), "c1")
    window.show_models([ModelChoice("q", "Qwen3-0.6B", ModelState.READY)], "q")
    window.show_status(
        Status("q", "NVIDIA RTX 3060", "", 4812, 252, 0.009, 1474, 8192, 1_700_000_000, 12 * 10**9)
    )
    window.show_memory_plan("Needs 2.4 GB of GPU memory; 10.3 GB are free.", True)


def show_chat(window: MainWindow, *exchanges: Exchange, draft: str = "") -> None:
    window.show_conversation(Conversation("c1", "Chat", tuple(exchanges), draft))


def scene_empty(window: MainWindow) -> None:
    window.show_conversations(summaries("New chat"), "c1")
    show_chat(window)


def scene_waiting(window: MainWindow) -> None:
    show_chat(window)
    window.show_exchange(running())
    window.show_chat_state(ChatState.PREFILLING)
    window.show_prefill("e1", 768, 2_048)
    window.show_status(Status("q", "NVIDIA RTX 3060", "reading", 0, 0, 0, 2_048, 8192))


def scene_thinking(window: MainWindow) -> None:
    show_chat(window)
    window.show_exchange(running(thinking_s=4.2))
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, THINKING + MORE_THINKING, 1_096)


def scene_answering(window: MainWindow) -> None:
    show_chat(window)
    window.show_exchange(running(thinking_s=4.2))
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, THINKING, 310)
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, ANSWER[:420], 96)


def scene_done(window: MainWindow) -> None:
    show_chat(window, exchange())


def scene_rich(window: MainWindow) -> None:
    question = "How does binary search work? A table and code, please."
    show_chat(window, exchange(question=question, answer=RICH_ANSWER, answer_tokens=402))


def scene_everything(window: MainWindow) -> None:
    """All that Markdown can hold, right-to-left text and what cannot be drawn, from its top."""
    show_chat(window, exchange(question="Everything at once, please.", answer=NASTY))
    settle(window)
    window.transcript.verticalScrollBar().setValue(0)


def scene_full_thinking(window: MainWindow) -> None:
    """The thinking opened to its full height."""
    show_chat(window, exchange(thinking=(THINKING + MORE_THINKING) * 2))
    settle(window)
    window.transcript.exchange_widget("e1").thinking.toggle_full_height()
    settle(window)
    window.transcript.verticalScrollBar().setValue(0)


def scene_away_from_the_end(window: MainWindow) -> None:
    """Scrolled up while it thinks: both ways back to the latest line."""
    show_chat(window, exchange("e0"))
    window.show_exchange(running())
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, (THINKING + MORE_THINKING) * 3, 1_096)
    settle(window)
    window.transcript.verticalScrollBar().setValue(160)
    window.transcript.exchange_widget("e1").thinking.view.verticalScrollBar().setValue(60)


def scene_chinese(window: MainWindow) -> None:
    show_chat(
        window,
        exchange(question=CHINESE_QUESTION, thinking=CHINESE_THINKING, answer=CHINESE_ANSWER),
        draft="空间复杂度为什么是常数？😀",
    )


def scene_stopped(window: MainWindow) -> None:
    stopped = exchange(
        answer=ANSWER[:180], status=ReplyStatus.STOPPED, finish_reason="cancelled", answer_tokens=34
    )
    show_chat(window, stopped)


def scene_failed(window: MainWindow) -> None:
    failed = exchange(
        thinking=THINKING[:220],
        answer="",
        status=ReplyStatus.FAILED,
        finish_reason="",
        thinking_tokens=58,
        thinking_s=2.1,
        answer_s=0.0,
        answer_tokens=0,
        error_text="The GPU has too little free memory for this chat. Nothing was lost; close "
        "other programs that use the GPU, or choose a shorter context.",
    )
    show_chat(window, failed)
    window.show_notice(
        Notice(
            "gpu",
            "The GPU stopped answering. Your chat is saved; restart to go on.",
            "error",
            (("restart", "Restart"),),
        )
    )


def scene_versions(window: MainWindow) -> None:
    first = Exchange(
        "e0",
        "What is 17 × 23?",
        (
            reply(reply_id="a", thinking="", thinking_enabled=False, answer="391."),
            reply(
                reply_id="b",
                thinking="",
                thinking_enabled=False,
                answer="17 × 23 = 17 × 20 + 17 × 3 = 340 + 51 = **391**.",
            ),
        ),
        1,
        left_out=True,
    )
    cut = exchange(
        answer=ANSWER[:300], finish_reason="max_new_tokens", answer_tokens=64, answer_s=0.3
    )
    show_chat(window, first, replace(cut, question_versions=("earlier", "")))
    window.show_status(
        Status("q", "NVIDIA RTX 3060", "", 4812, 252, 0.009, 7_700, 8192, 1_700_000_000, 12 * 10**9)
    )
    window.show_notice(
        Notice(
            "context",
            "The chat no longer fits into the context. The oldest questions can be left out.",
            "warn",
            (("leave_out_oldest", "Leave out the oldest"),),
        )
    )


def scene_settings(window: MainWindow) -> None:
    settings = with_value(window.settings_panel.settings, "temperature", 0.0)
    settings = with_value(settings, "seed", 42)
    settings = with_value(settings, "system_prompt", "You are a patient teacher of physics.")
    window.show_settings(settings)
    window.show_memory_plan("Needs 13.1 GB of GPU memory; 10.3 GB are free.", False)
    scene_done(window)


def scene_hidden(window: MainWindow) -> None:
    window.show_settings(with_value(window.settings_panel.settings, "show_thinking", False))
    scene_done(window)


def scene_no_gpu(window: MainWindow) -> None:
    scene_done(window)
    window.show_status(Status("q", "Processor", "", 31, 9.4, 1.92, 1_474, 8192))
    window.show_notice(
        Notice(
            "no_gpu",
            "No NVIDIA GPU was found, so the processor answers: slower, but just the same.",
        )
    )


def scene_deleted(window: MainWindow) -> None:
    scene_done(window)
    window.chats.delete("c3")
    window.show_conversations(
        [item for item in summaries() if item.title != "Plan a week of dinners"], "c1"
    )


def scene_list_open(window: MainWindow) -> None:
    scene_done(window)
    window.panels.toggle("left")


def scene_folded_open(window: MainWindow) -> None:
    scene_done(window)
    window.toggle_thinking()


Scene = Callable[[MainWindow], None]
