"""The seam between controllers and the window: what the window shows, and what it asks for.

`ChatView` is implemented by `app.ui.main_window.MainWindow`. The window's signals are its
*intentions*; they are listed here, since a Protocol cannot declare Qt signals:

    submitted(str)                        Send, or Enter in the composer
    stop_requested()                      Stop, or Esc
    answer_now_requested()
    regenerate_requested(str)             exchange_id
    edit_requested(str, str)              exchange_id, new question
    continue_requested(str)               exchange_id
    reply_edited(object)                  ReplyEdit
    reply_chosen(str, int)                exchange_id, index of the reply version
    question_chosen(str, int)             exchange_id, index of the wording
    new_chat_requested()
    conversation_selected(str)            conversation_id
    rename_requested(str, str)            conversation_id, title
    delete_requested(str)                 conversation_id
    undo_delete_requested(str)            conversation_id; also takes one out of the trash
    erase_requested(object)               conversation_ids of the trash, to be erased for good
    pin_requested(str, bool)              conversation_id, whether it is to be above all others
    duplicate_requested(str)              conversation_id
    temporary_chat_requested()            an empty chat of which nothing is stored
    export_requested(str, object, str)    conversation_id or "" for all, ExportFormat, path
    import_requested(str)                 path
    files_dropped(object)                 paths of text files for the next question
    long_text_pasted(str)                 too long for the composer: goes along as a file does
    paste_undone()                        take the text that was pasted last out again
    attachment_removed(int)               its place among the files of the next question
    attachment_inlined(int)               its text is to stand in the question itself
    send_held_back()                      Send, while `Attached.can_send` says no
    search_changed(str)
    draft_changed(str)
    settings_changed(object)              app.settings.Settings
    preset_chosen(str)                    name; "" is the default preset
    preset_saved(str)                     name, new or not: the chat's values are saved under it
    preset_renamed(str, str)              name, new name
    preset_deleted(str)                   name
    preset_reverted()                     take back the chat's changes to its preset
    model_selected(str)                   model_id
    add_model_requested()
    remove_model_requested(str)           model_id; its files stay
    pause_download_requested(str)         model_id
    resume_download_requested(str)        model_id
    free_memory_requested()
    action_requested(str)                 Notice action: "retry", "restart", "leave_out_oldest", ...
    closing()                             the window is about to close
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec, Protocol

if TYPE_CHECKING:
    from app.conversation import Conversation, ConversationSummary, Exchange
    from app.settings import Settings
    from engine.api import Capability, Channel

P = ParamSpec("P")


class ModelState(Enum):
    """Where one model stands."""

    ABSENT = "absent"
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"
    ON_DISK = "on_disk"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class ChatState(Enum):
    """Where the chat stands."""

    IDLE = "idle"
    PREFILLING = "prefilling"
    THINKING = "thinking"
    ANSWERING = "answering"
    STOPPING = "stopping"


class ExportFormat(Enum):
    """In what form chats leave the app; only JSON holds all of a chat and can be imported."""

    MARKDOWN = "markdown"
    MARKDOWN_WITH_THINKING = "markdown_with_thinking"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of the next question, or a long text that was pasted.

    `tokens` is None until they are counted, and `counted` how much of it is (0..1, None while
    nothing counts). `fits`: whether the model can see all files at once beside the chat so far.
    `can_inline`: whether its text can stand in the question itself.
    """

    name: str
    tokens: int | None
    size_bytes: int
    fits: bool = True
    counted: float | None = None
    can_inline: bool = False


@dataclass(frozen=True, slots=True)
class Attached:
    """All files of the next question; `note` says what is to be known before it is sent ("": no
    more than the files themselves show).
    """

    files: tuple[Attachment, ...] = ()
    note: str = ""
    can_send: bool = True


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A line of the model picker; `progress` is 0..1 while downloading or loading.

    `is_added`: pointed at by the user, so it can be taken off the list. `is_paused`: a download
    that stopped at `progress`. `is_new`: has just arrived, and the header offers to switch to it.
    `suggestions`: what an empty chat with this model offers; none: what any model is asked.
    """

    model_id: str
    label: str
    state: ModelState
    progress: float = 0.0
    detail: str = ""
    is_demo: bool = False
    is_added: bool = False
    is_paused: bool = False
    is_new: bool = False
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """The status bar; None and 0 values are not shown."""

    model: str = ""
    device: str = ""
    phase: str = ""
    prefill_tokens_per_s: float = 0.0
    decode_tokens_per_s: float = 0.0
    first_token_s: float = 0.0
    context_tokens: int = 0
    capacity_tokens: int = 0
    gpu_used_bytes: int | None = None
    gpu_total_bytes: int | None = None
    gpu_others_bytes: int | None = None
    """What other programs hold of the used memory."""


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """The presets' names ("" for the default one), the shown chat's, and whether it differs."""

    names: tuple[str, ...] = ("",)
    chosen: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence and what can be done; actions are (action id, button label).

    `kind` is "info", "warn" or "error"; a notice of the same `key` replaces the older one.
    `retell` makes it anew, in the language that is then in use; without it the words stay.
    """

    key: str
    text: str
    kind: str = "info"
    actions: tuple[tuple[str, str], ...] = ()
    timeout_s: float | None = None
    retell: Callable[[], Notice] | None = field(default=None, compare=False, repr=False)


def retold(make: Callable[P, Notice]) -> Callable[P, Notice]:
    """For a function that makes a notice: it is told again where another language is chosen."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Notice:
        return replace(make(*args, **kwargs), retell=partial(made, *args, **kwargs))

    return made


@dataclass(frozen=True, slots=True)
class ReplyEdit:
    """A changed answer, or changed thinking; whether the model goes on from there, and in what."""

    exchange_id: str
    channel: Channel
    text: str
    thinking_closed: bool
    goes_on: bool


class ChatView(Protocol):
    """What the controllers may tell the window; called on the GUI thread only."""

    def show_conversations(
        self, summaries: Sequence[ConversationSummary], selected_id: str | None
    ) -> None:
        """Fill the list; the widget makes the date groups."""
        ...

    def show_trash(self, summaries: Sequence[ConversationSummary]) -> None:
        """Fill the trash, the last deleted first."""
        ...

    def show_conversation(self, conversation: Conversation) -> None:
        """Show a whole chat (also an empty one, with suggestions) and its draft."""
        ...

    def show_attachments(self, attached: Attached) -> None:
        """Show the files that go with the next question of the shown chat."""
        ...

    def insert_into_question(self, text: str) -> None:
        """Write into the composer, where its cursor stands."""
        ...

    def show_exchange(self, exchange: Exchange) -> None:
        """Add an exchange, or replace what is shown of it (final texts, counts, status)."""
        ...

    def remove_exchanges_after(self, exchange_id: str) -> None:
        """Take away all later exchanges (an edited question starts anew there)."""
        ...

    def append_delta(self, exchange_id: str, channel: Channel, text: str, token_count: int) -> None:
        """Add streamed text to one pane of the running reply."""
        ...

    def show_hit(self, exchange_id: str) -> None:
        """Bring what is searched for in that exchange into view."""
        ...

    def show_prefill(self, exchange_id: str, done_tokens: int, total_tokens: int) -> None:
        """Show how much of the prompt has been read."""
        ...

    def show_wait(self, exchange_id: str, text: str, share: float | None) -> None:
        """Say what a reply that has not begun waits for, and how far that is (0..1, if known).

        An empty text: it waits for nothing but its own prompt.
        """
        ...

    def show_chat_state(self, state: ChatState) -> None:
        """Send or Stop, thinking timer, Answer now."""
        ...

    def show_models(self, choices: Sequence[ModelChoice], active_id: str | None) -> None:
        """Fill the model picker of the header."""
        ...

    def show_capabilities(self, capabilities: frozenset[Capability]) -> None:
        """Disable what the active model cannot do; all of it is possible until it is known."""
        ...

    def show_status(self, status: Status) -> None:
        """Fill the status bar."""
        ...

    def show_settings(self, settings: Settings) -> None:
        """Fill the settings panel, the theme and the font size."""
        ...

    def reveal_setting(self, name: str, *, focus: bool = True) -> None:
        """Open the settings at that one; with `focus` it gets the keyboard."""
        ...

    def show_presets(self, choice: PresetChoice) -> None:
        """Show which preset the chat uses, and all that there are."""
        ...

    def show_memory_plan(self, text: str, fits: bool) -> None:
        """Show what the model needs on this device, under the context setting."""
        ...

    def show_notice(self, notice: Notice) -> None:
        """Show a sentence above the composer until it is acted on, replaced or timed out."""
        ...

    def hide_notice(self, key: str) -> None:
        """Take the notice away."""
        ...

    def notify(self, title: str, text: str) -> None:
        """Tell the desktop that a long answer ended, if the window is in the background."""
        ...
