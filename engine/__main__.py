"""`python -m engine chat MODEL`: a terminal chat, and the proof that the engine needs no Qt."""

from __future__ import annotations

import argparse
import io
import logging
import sys
from pathlib import Path
from typing import NoReturn

from engine.api import Capability, SamplingParams, ThinkingParams
from engine.dump_folder import DumpFolder
from engine.errors import BadRequest, EngineError
from engine.open_engine import DEFAULT_CAPACITY_TOKENS, DEVICES, open_engine
from engine.terminal_chat import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    ChatOptions,
    TerminalChat,
    error_line,
    exit_code,
    read_terminal_line,
)

# Temperature, top-p and top-k that the model card recommends with and without thinking.
_THINKING_DEFAULTS = (0.6, 0.95, 20)
_PLAIN_DEFAULTS = (0.7, 0.8, 20)


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"error: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parser = _OneLineParser(prog="python -m engine", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_OneLineParser)
    chat = commands.add_parser("chat", help="chat with a model in the terminal")
    add = chat.add_argument
    add("model", type=Path, help="folder with config.json and safetensors, or a .gguf file")
    add("-i", dest="questions", action="append", metavar="PROMPT",
        help="ask this and quit; may be given several times, as turns of one chat")  # fmt: skip
    add("-y", dest="system", default="", metavar="SYSTEM", help="system prompt")
    add("-r", dest="reasoning", type=int, choices=(0, 1),
        help="thinking (default 1 where the model can)")  # fmt: skip
    add("-s", dest="seed", type=int, metavar="SEED", help="seed (default: drawn)")
    add("-k", dest="top_k", type=int, metavar="TOPK", help="top-k (default 20; 0 is off)")
    add("-t", dest="temperature", type=float, metavar="TEMPERATURE",
        help="default 0.6 with thinking, 0.7 without; 0 is greedy")  # fmt: skip
    add("-p", dest="top_p", type=float, metavar="TOPP",
        help="top-p (default 0.95 with thinking, 0.8 without)")  # fmt: skip
    add("--min-p", type=float, default=0.0, help="min-p (default 0)")
    add("--max-new-tokens", type=int, help="most tokens of one reply (default: no limit)")
    add("--context", type=int, metavar="TOKENS",
        help=f"context length (default {DEFAULT_CAPACITY_TOKENS}, or the model's)")  # fmt: skip
    add("--device", choices=DEVICES, default="auto", help="default auto")
    add("--no-graph", action="store_true",
        help="launch the GPU's kernels one by one: slower, the same answers")  # fmt: skip
    add("--dump", type=Path, metavar="DIR",
        help="write the prompt's hidden states and logits as .npy (one -i)")  # fmt: skip
    add("--json", action="store_true", help="one JSON object per turn on stdout (needs -i)")
    return parser


def chat_options(arguments: argparse.Namespace, model_thinks: bool = True) -> ChatOptions:
    """The options of the chat, checked. Raises BadRequest."""
    thinking = model_thinks and arguments.reasoning != 0
    temperature, top_p, top_k = _THINKING_DEFAULTS if thinking else _PLAIN_DEFAULTS
    if arguments.max_new_tokens is not None and arguments.max_new_tokens < 1:
        raise BadRequest("--max-new-tokens", arguments.max_new_tokens, "1 or more")
    if arguments.json and not arguments.questions:
        raise BadRequest("--json", "no -i", "at least one prompt with -i")
    if arguments.dump and len(arguments.questions or ()) != 1:
        raise BadRequest("--dump", f"{len(arguments.questions or ())} prompts", "exactly one -i")
    sampling = SamplingParams(
        temperature=temperature if arguments.temperature is None else arguments.temperature,
        top_p=top_p if arguments.top_p is None else arguments.top_p,
        top_k=top_k if arguments.top_k is None else arguments.top_k,
        min_p=arguments.min_p,
        seed=arguments.seed,
    )
    return ChatOptions(
        sampling=sampling,
        thinking=ThinkingParams(thinking),
        system=arguments.system,
        max_new_tokens=arguments.max_new_tokens,
        as_json=arguments.json,
    )


def run_chat(arguments: argparse.Namespace) -> int:
    """Open, load and chat; the exit code. Raises EngineError for bad arguments and files."""
    chat_options(arguments)  # what is wrong with them is told before a file is read
    dump = DumpFolder(arguments.dump) if arguments.dump else None
    wanted = DEFAULT_CAPACITY_TOKENS if arguments.context is None else arguments.context
    use_graph = not arguments.no_graph
    engine = open_engine(arguments.model, arguments.device, wanted, dump=dump, use_graph=use_graph)
    try:
        info = engine.info()
        if arguments.no_graph and not info.on_gpu:
            print("note: --no-graph changes nothing on the CPU", file=sys.stderr)
        if arguments.context is not None and info.capacity_tokens < arguments.context:
            expected = f"at most {info.capacity_tokens} for this model"
            raise BadRequest("--context", arguments.context, expected)
        thinks = Capability.THINKING in info.capabilities
        if arguments.reasoning == 1 and not thinks:
            print(f"note: {info.model} does not think; -r 1 changes nothing", file=sys.stderr)
        options = chat_options(arguments, thinks)
        chat = TerminalChat(engine, options, sys.stdout, sys.stderr)
        chat.load()
        if not arguments.questions:
            return chat.talk(read_terminal_line)
        code = chat.ask_all(arguments.questions)
        if dump and code == EXIT_OK:
            dump.write()
        return code
    finally:
        engine.close()


def main() -> int:
    """Run the command line; the exit code: 0, 1 failed, 2 bad arguments or files, 130 Ctrl-C."""
    if None in (sys.stdout, sys.stderr):  # the shell closed it: nothing could be said
        return EXIT_FAILED
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Questions and answers hold any character, whatever the terminal's locale says.
            stream.reconfigure(encoding="utf-8", errors="replace")
    # A warning of the engine starts at the left, over the progress of loading.
    start = "\r" if sys.stderr.isatty() else ""
    logging.basicConfig(format=start + "note: %(message)s")
    arguments = build_parser().parse_args()
    try:
        return run_chat(arguments)
    except EngineError as error:
        code = exit_code(error)
        if code != EXIT_INTERRUPTED:
            print(error_line(error), file=sys.stderr)
        return code
    except MemoryError:
        print("error: the main memory is full", file=sys.stderr)
        return EXIT_FAILED
    except (KeyboardInterrupt, BrokenPipeError):
        return EXIT_INTERRUPTED
    except OSError as error:  # the disk that stdout goes to is full, the terminal is gone
        print(f"error: cannot go on: {error.strerror or error}", file=sys.stderr)
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
