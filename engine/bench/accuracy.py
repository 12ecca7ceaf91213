"""Whether the path that is timed computes the right numbers: no speed is told without it.

The same tokens go through the device's own path (one prefill, then sampled decode steps of the
graph) and, all at once, through the CPU backend in float32, which the oracle tests hold against
transformers. The bounds are those of tests/gpu/accuracy.py that need no second yardstick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from engine.api import Detail, Engine, GenerationControl
from engine.backend import Backend, SampledToken
from engine.bench.replies import SAMPLING

PASSAGE = (
    "The old road leaves the harbour behind the last row of houses and climbs between stone walls "
    "to the chapel on the ridge. From there one sees both coasts: the fishing boats in the east, "
    "and in the west nothing but the weather that will arrive before evening."
)
"""Plain English: on random tokens a trained model is far off its training, and every rounding of
its operands shows tenfold.
"""

PROMPT_TOKENS = 32
DECODED_TOKENS = 32
CAPACITY_TOKENS = 128

REGRET_NAT = 0.20
MEAN_NAT = 0.06
P99_NAT = 0.20

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Differences of log-probabilities, in nat, over `positions`; `regret` is what the reference
    thinks is lost where the device's first choice is another one.
    """

    device: str
    reference: str
    positions: int
    kl_prefill: float
    mean_prefill: float
    mean_decode: float
    p99_nat: float
    regret_nat: float

    @property
    def holds(self) -> bool:
        """Whether every bound is kept; NaN keeps none."""
        return (
            self.mean_prefill <= MEAN_NAT
            and self.mean_decode <= MEAN_NAT
            and self.p99_nat <= P99_NAT
            and self.regret_nat <= REGRET_NAT
        )

    def as_json(self) -> dict[str, object]:
        """All figures and their bounds."""
        bounds = {"mean": MEAN_NAT, "p99_nat": P99_NAT, "regret_nat": REGRET_NAT}
        return {**asdict(self), "bounds": bounds, "holds": self.holds}


class LogitsKeeper:
    """A `DumpSink` that keeps the logits."""

    def __init__(self) -> None:
        self._pieces: list[Logits] = []

    def __call__(self, name: str, value: Logits) -> None:
        """Take one array."""
        if name == "logits":
            self._pieces.append(value)

    @property
    def logits(self) -> Logits:
        """All rows so far, [T, V]."""
        return np.concatenate(self._pieces)


def load(loadable: Backend | Engine) -> None:
    """Load without looking at the progress."""
    for _ in loadable.load(GenerationControl()):
        pass


def prefilled(backend: Backend, token_ids: list[int]) -> tuple[Logits, SampledToken]:
    """Logits [T, V] of every token, and the token that was sampled behind the last."""
    backend.truncate(0, 0)
    keeper = LogitsKeeper()
    chunk = backend.prefill_chunk_tokens
    token = None
    for first in range(0, len(token_ids), chunk):
        is_last = first + chunk >= len(token_ids)
        token = backend.prefill(0, token_ids[first : first + chunk], is_last, keeper)
    assert token is not None
    return keeper.logits, token


def compare(device: Backend, reference: Backend, passage: Sequence[int], seed: int = 5) -> Accuracy:
    """Run the same tokens through both loaded backends, and compare position by position.

    `passage` is `PASSAGE` in the model's ids; its beginning is the prompt.
    """
    prompt = list(passage[:PROMPT_TOKENS])
    assert len(prompt) == PROMPT_TOKENS
    for backend in (device, reference):
        backend.set_sampler(0, SAMPLING, seed, prompt, (), Detail.ALTERNATIVES)
    logits, first = prefilled(device, prompt)
    tokens = [first, *device.decode([0], DECODED_TOKENS, frozenset())[0]]
    sequence = [*prompt, *(token.token_id for token in tokens)]
    ours, truth = _log_softmax(logits), _log_softmax(prefilled(reference, sequence[:-1])[0])
    after_prompt, decoded = truth[:PROMPT_TOKENS], truth[PROMPT_TOKENS:]
    rows = np.arange(PROMPT_TOKENS)
    following = np.asarray(sequence[1 : PROMPT_TOKENS + 1])
    differences = np.abs(ours - after_prompt)[rows, following]
    regret = after_prompt.max(-1) - after_prompt[rows, ours.argmax(-1)]
    decode_differences, decode_regret = _of_tokens(tokens[1:], decoded)
    return Accuracy(
        device=device.device_name,
        reference=f"{reference.device_name}, all tokens at once",
        positions=len(sequence) - 1,
        kl_prefill=float((np.exp(after_prompt) * (after_prompt - ours)).sum(-1).mean()),
        mean_prefill=float(differences.mean()),
        mean_decode=float(decode_differences.mean()),
        p99_nat=float(np.quantile(np.concatenate([differences, decode_differences]), 0.99)),
        regret_nat=float(np.max([*regret, decode_regret])),
    )


def _of_tokens(
    tokens: list[SampledToken], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Differences of every reported log-probability, and the largest regret of a first choice."""
    differences: list[float] = []
    regret = 0.0
    for token, row in zip(tokens, truth, strict=True):
        told = dict(token.alternatives)
        if token.logprob is not None:
            told[token.token_id] = token.logprob
        differences += [abs(logprob - row[token_id]) for token_id, logprob in told.items()]
        first_choice = max(told, key=lambda token_id: told[token_id])
        regret = max(regret, float(row.max() - row[first_choice]))
    return np.asarray(differences), regret


def _log_softmax(logits: Logits) -> NDArray[np.float64]:
    values = logits.astype(np.float64)
    values -= values.max(-1, keepdims=True)
    values -= np.log(np.exp(values).sum(-1, keepdims=True))
    return values
