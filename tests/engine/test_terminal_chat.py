"""The terminal chat: what goes where, exit codes, one clear line for anything bad."""

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from engine import __main__ as command
from engine.api import Channel, FinishReason, GenerationStats, SamplingParams, ThinkingParams
from engine.errors import (
    BadModelFile,
    DeviceLost,
    LoadCancelled,
    NoCudaDevice,
    NotEnoughMemory,
    NumericalError,
    PromptTooLong,
)
from engine.scripted_engine import ScriptedEngine, ScriptedReply, reply_of_texts, scripted_info
from engine.terminal_chat import ChatOptions, TerminalChat, banner, read_terminal_line
from tests.engine.models.tiny_model import make_tiny_model


@pytest.fixture
def nan_folder(tmp_path):
    """A tiny model whose weights are infinite from the second layer on."""
    folder = make_tiny_model(tmp_path / "infinite", dtype="F32")
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-64_000:-60_000] = np.full(1000, 1e38, "<f4").tobytes()
    path.write_bytes(data)
    return folder


REPLY = reply_of_texts("Let me see.", "It is Paris.")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def chat(replies, out=None, engine=None, **options):
    options = {"sampling": SamplingParams(), "thinking": ThinkingParams()} | options
    out, err = out or io.StringIO(), io.StringIO()
    engine = engine or ScriptedEngine(replies)
    return TerminalChat(engine, ChatOptions(**options), out, err), engine, out, err


def test_stdout_carries_the_answer_alone_when_piped():
    made, _, out, err = chat([REPLY])
    assert made.ask_all(["Where?"]) == 0
    assert out.getvalue() == "It is Paris.\n"
    assert "Let me see." in err.getvalue()


def test_a_terminal_shows_dim_thinking_before_the_answer():
    made, _, out, err = chat([REPLY], out=Terminal())
    made.ask_all(["Where?"])
    text = out.getvalue()
    assert text.startswith("\x1b[2mLet\x1b[0m")
    assert text.endswith("\n\nIt is Paris.\n")
    assert "Let" not in err.getvalue()


def test_the_banner_tells_speed_tokens_and_seconds():
    made, _, _, err = chat([REPLY])
    made.ask_all(["Where?"])
    banner = err.getvalue().splitlines()[-1]
    for word in ("tokens/s", "6 tokens", " s;"):
        assert word in banner


def stats(tokens, decode_s):
    return GenerationStats(
        prompt_tokens=10,
        reused_tokens=6,
        thinking_tokens=0,
        answer_tokens=tokens,
        prefill_s=0.5,
        decode_s=decode_s,
        first_token_s=0.5,
        thinking_s=0,
        seed=1,
        context_tokens=10 + tokens,
        token_ids=tuple(range(tokens)),
    )


def test_the_banner_tells_the_speed_of_each_phase_and_an_unusual_end():
    assert banner(stats(11, 2.0), FinishReason.END) == (
        "[5.0 tokens/s, 11 tokens, 2.5 s; prompt 10 tokens, 6 reused, 8.0 tokens/s]"
    )
    # One token has no decoding of its own.
    assert banner(stats(1, 0.0), FinishReason.CANCELLED).startswith(
        "[2.0 tokens/s, 1 token, 0.5 s;"
    )
    assert banner(stats(1, 0.0), FinishReason.CANCELLED).endswith("; ended by cancelled]")


def test_a_terminal_is_not_sent_the_escape_sequences_that_a_model_writes():
    reply = reply_of_texts("\x1b]0;t\x07", "a\x1b[2J\x9bb\tc\n")
    made, _, out, _ = chat([reply], out=Terminal())
    made.ask_all(["Where?"])
    assert "\u241b]0;t\u2407" in out.getvalue()
    assert out.getvalue().endswith("a\u241b[2J\ufffdb\tc\n\n")
    piped, _, out, _ = chat([reply])
    piped.ask_all(["Where?"])
    assert out.getvalue() == "a\x1b[2J\x9bb\tc\n\n"


def test_turns_share_one_conversation_with_its_system_prompt():
    made, engine, _, _ = chat([REPLY], system="Be brief.")
    made.ask_all(["One?", "Two?"])
    roles = [m.role.value for m in engine.requests[1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert engine.requests[1].messages[2].text == "It is Paris."
    assert engine.requests[1].messages[2].thinking == "Let me see."


def test_json_is_one_object_per_turn():
    made, _, out, _ = chat([REPLY], as_json=True)
    made.ask_all(["One?", "Two?"])
    first, second = map(json.loads, out.getvalue().splitlines())
    assert (first["text"], first["thinking"]) == ("It is Paris.", "Let me see.")
    assert first["finish_reason"] == "end"
    assert first["token_ids"] == list(range(6))
    assert first["generated_tokens"] == 6
    assert second["prompt_tokens"] > first["prompt_tokens"] > 0
    assert {"prefill_tokens_per_s", "decode_tokens_per_s", "first_token_s"} <= first.keys()


@pytest.mark.parametrize(("error", "code"), [(NumericalError("x"), 1), (PromptTooLong(9, 5), 2)])
def test_a_failed_reply_is_one_line_and_an_exit_code(error, code):
    made, _, _, err = chat([ScriptedReply(REPLY.pieces, error=error)])
    assert made.ask_all(["Where?", "never asked"]) == code
    assert err.getvalue() == f"error: {error}\n"


def lines(*texts):
    waiting = list(texts)

    def read_line():
        if not waiting:
            raise EOFError
        text = waiting.pop(0)
        if isinstance(text, BaseException):
            raise text
        return text

    return read_line


def test_talking_goes_on_after_blank_lines_errors_and_ctrl_c_at_the_prompt():
    failing = ScriptedReply(REPLY.pieces, error=NumericalError("x"))
    made, engine, out, err = chat([failing, REPLY])
    assert made.talk(lines("", "One?", KeyboardInterrupt(), "Two?")) == 0
    assert out.getvalue() == "It is Paris.\n"
    assert "not a finite number" in err.getvalue()
    # The question that failed is not part of the conversation.
    assert [m.text for m in engine.requests[1].messages] == ["Two?"]


def test_ctrl_c_cancels_the_reply_and_keeps_what_came():
    presses = []
    before = signal.getsignal(signal.SIGINT)  # ignored where CI runs in the background

    def press_at_the_eighth_step(seconds):
        presses.append(seconds)
        if len(presses) == 8:
            os.kill(os.getpid(), signal.SIGINT)

    engine = ScriptedEngine([REPLY], 50, sleep=press_at_the_eighth_step)
    made, _, out, err = chat(None, engine=engine)
    assert made.ask_all(["Where?"]) == 130
    assert out.getvalue() == "It\n"[: len(out.getvalue())]
    assert "ended by cancelled" in err.getvalue()
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_loading_ends_with_130(tiny_folder, monkeypatch, capsys):
    def cancelled(self, control):
        raise LoadCancelled
        yield

    monkeypatch.setattr("engine.generation.TextEngine.load", cancelled)
    code, out, err = run_command(monkeypatch, capsys, "chat", tiny_folder, "-i", "a")
    assert (code, out, err) == (130, "", "")


def test_loading_shows_progress_on_a_terminal_only():
    made, _, _, err = chat([REPLY])
    made.load()
    assert err.getvalue() == ""
    shown = Terminal()
    TerminalChat(
        ScriptedEngine([REPLY]),
        ChatOptions(SamplingParams(), ThinkingParams()),
        io.StringIO(),
        shown,
    ).load()
    assert "loading 75 %" in shown.getvalue()


def test_reading_a_prompt_shows_progress_and_leaves_no_trace_of_it():
    made, _, _, err = chat([REPLY])
    made._err = shown = Terminal()
    made.ask_all(["Where does this long river flow?"])
    last_written = shown.getvalue().split("reading the prompt 100 %", 1)[1]
    assert last_written.startswith("\r" + " " * 24 + "\rLet")
    assert err.getvalue() == ""


def run_command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["engine", *map(str, arguments)])
    try:
        code = command.main()
    except SystemExit as stop:
        code = stop.code
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-t", "9"], "temperature"),
        (["-t", "hot"], "-t"),
        (["-k", "-1"], "top_k"),
        (["-p", "0"], "top_p"),
        (["--min-p", "2"], "min_p"),
        (["-s", "-4"], "seed"),
        (["-r", "2"], "-r"),
        (["--max-new-tokens", "0"], "--max-new-tokens"),
        (["--context", "5000"], "--context"),
        (["--context", "1"], "context length"),
        (["--device", "tpu"], "--device"),
        (["--dump", "x", "-i", "b"], "--dump"),
        (["--what"], "--what"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    tiny_folder, monkeypatch, capsys, arguments, word
):
    code, out, err = run_command(monkeypatch, capsys, "chat", tiny_folder, "-i", "a", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert word in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotEnoughMemory(2, 1, "main memory"), 1),
        (DeviceLost("x"), 1),
        (NoCudaDevice("x"), 2),
        (BadModelFile("x", "y"), 2),
        (MemoryError(), 1),
        (OSError(28, "No space left on device"), 1),
        (BrokenPipeError(), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_fault_while_loading_is_at_most_one_line_and_its_exit_code(
    tiny_folder, monkeypatch, capsys, error, code
):
    def failing(self, control):
        raise error
        yield

    monkeypatch.setattr("engine.generation.TextEngine.load", failing)
    found, out, err = run_command(monkeypatch, capsys, "chat", tiny_folder, "-i", "a")
    assert (found, out) == (code, "")
    assert err.count("\n") == (code != 130)
    assert "Traceback" not in err


def test_a_model_that_cannot_think_is_sampled_as_without_thinking_and_says_so(monkeypatch, capsys):
    plain = replace(scripted_info("Plain"), capabilities=frozenset())
    engines = []

    def open_scripted(*arguments, **options):
        engines.append(ScriptedEngine([reply_of_texts("", "Yes.")], info=plain))
        return engines[-1]

    monkeypatch.setattr(command, "open_engine", open_scripted)
    _, _, err = run_command(monkeypatch, capsys, "chat", "m", "-i", "a")
    assert "note" not in err
    _, _, err = run_command(monkeypatch, capsys, "chat", "m", "-i", "a", "-r", "1")
    assert "note: Plain does not think; -r 1 changes nothing\n" in err
    for engine in engines:
        assert engine.requests[0].sampling.temperature == 0.7
        assert not engine.requests[0].thinking.enabled


def test_a_failed_reply_leaves_no_dump(nan_folder, tmp_path, monkeypatch, capsys):
    code, _, _ = run_command(
        monkeypatch, capsys, "chat", nan_folder, "-i", "a", "--dump", tmp_path / "d",
        "--device", "cpu",
    )  # fmt: skip
    assert code == 1
    assert list((tmp_path / "d").iterdir()) == []


@pytest.mark.filterwarnings("default")
def test_infinite_weights_end_in_one_line_without_warnings(nan_folder, monkeypatch, capsys):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        code, out, err = run_command(
            monkeypatch, capsys, "chat", nan_folder, "-i", "a", "--device", "cpu"
        )
    assert (code, out) == (1, "")
    assert err.startswith("error: not a finite number in the logits")
    assert (err.count("\n"), [str(w.message) for w in seen]) == (1, [])


def test_questions_from_a_pipe_may_hold_bytes_that_are_no_text(tiny_folder):
    command_line = [
        sys.executable, "-m", "engine", "chat", str(tiny_folder), "-t", "0", "--device", "cpu",
        "--max-new-tokens", "2",
    ]  # fmt: skip
    done = subprocess.run(
        command_line,
        input=b"hi \xff\xfe",
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert b"2 tokens" in done.stderr


class Keyboard(io.StringIO):
    def isatty(self):
        return True


def test_the_prompt_sign_does_not_go_into_a_piped_stdout(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Keyboard("One?\n"))
    assert read_terminal_line() == "One?"
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "> ")


def test_a_closed_stdin_ends_the_chat(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    made, _, _, _ = chat([REPLY])
    assert made.talk(read_terminal_line) == 0


def test_a_closed_stdout_is_a_failure_and_no_traceback(tiny_folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["engine", "chat", str(tiny_folder), "-i", "a"])
    monkeypatch.setattr(sys, "stdout", None)
    assert command.main() == 1


def test_json_without_a_prompt_is_refused(tiny_folder, monkeypatch, capsys):
    code, _, err = run_command(monkeypatch, capsys, "chat", tiny_folder, "--json")
    assert code == 2
    assert "-i" in err


@pytest.mark.parametrize("kind", ["missing", "not a model", "broken"])
def test_a_bad_file_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, kind):
    path = tmp_path / "model.gguf"
    if kind == "not a model":
        path = tmp_path
    elif kind == "broken":
        path.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 100)
    code, out, err = run_command(monkeypatch, capsys, "chat", path, "-i", "a")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(tmp_path) in err


def test_dump_writes_every_layer_and_the_logits(tiny_folder, tmp_path, monkeypatch, capsys):
    code, out, _ = run_command(
        monkeypatch, capsys, "chat", tiny_folder, "-i", "hello", "--dump", tmp_path / "d",
        "--device", "cpu", "--max-new-tokens", 1, "--json",
    )  # fmt: skip
    assert code == 0
    positions = json.loads(out)["prompt_tokens"]
    shapes = {path.name: np.load(path).shape for path in (tmp_path / "d").iterdir()}
    hidden = dict.fromkeys(("00", "01", "02", "norm"), (positions, 64))
    assert shapes == {f"hidden.{k}.npy": v for k, v in hidden.items()} | {
        "logits.npy": (positions, 352)
    }


def test_a_folder_that_cannot_be_written_to_is_named(tiny_folder, tmp_path, monkeypatch, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, _, err = run_command(
        monkeypatch, capsys, "chat", tiny_folder, "-i", "a", "--dump", blocked / "d"
    )
    assert code == 2
    assert str(blocked / "d") in err


@pytest.mark.slow
def test_the_module_runs_as_a_program(tiny_folder):
    command_line = [
        sys.executable, "-m", "engine", "chat", str(tiny_folder), "-i", "hello", "-t", "0",
        "--device", "cpu", "--max-new-tokens", "3", "--json",
    ]  # fmt: skip
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["generated_tokens"] == 3


def test_a_prompt_that_is_too_long_tells_both_numbers(tiny_folder, monkeypatch, capsys):
    code, _, err = run_command(
        monkeypatch, capsys, "chat", tiny_folder, "-i", "word " * 50, "--context", 40,
        "--device", "cpu",
    )  # fmt: skip
    assert code == 2
    assert "at most 39 fit into the context" in err


def test_the_defaults_follow_the_thinking_mode():
    parse = command.build_parser().parse_args
    on = command.chat_options(parse(["chat", "m"])).sampling
    off = command.chat_options(parse(["chat", "m", "-r", "0"])).sampling
    assert (on.temperature, on.top_p, on.top_k) == (0.6, 0.95, 20)
    assert (off.temperature, off.top_p, off.top_k) == (0.7, 0.8, 20)
    own = command.chat_options(parse(["chat", "m", "-t", "0", "-p", "0.5", "-k", "0"])).sampling
    assert (own.temperature, own.top_p, own.top_k) == (0, 0.5, 0)


def test_channels_are_never_mixed_in_json():
    pieces = ((Channel.THINKING, "a"), (Channel.ANSWER, "b"), (Channel.ANSWER, "c"))
    engine = ScriptedEngine([ScriptedReply(pieces)], info=scripted_info("M"))
    made, _, out, _ = chat(None, engine=engine, as_json=True)
    made.ask_all(["x"])
    result = json.loads(out.getvalue())
    assert (result["thinking"], result["text"], result["model"]) == ("a", "bc", "M")
