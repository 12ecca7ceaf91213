"""Train the demo model, write it and measure it; needs PyTorch and, for good weights, a GPU.

`python -m resources.demo_model.make.train --seconds 350 --out FOLDER` reads the tokenizer from
`resources/demo_model/`. The steps, not the clock, can be fixed with `--steps`.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from resources.demo_model.make.encoding import Encoder
from resources.demo_model.make.measure import measure
from resources.demo_model.make.network import Network, Shape
from resources.demo_model.make.rows import ROW_TOKENS, Mixture, RowStream
from resources.demo_model.make.scores import held_out, table, total
from resources.demo_model.make.write_model import write_model

log = logging.getLogger("train")
MODEL_FOLDER = Path(__file__).resolve().parent.parent
_WARMUP = 0.02
"""Share of the training with rising learning rate."""
_DECAY = 0.4
"""Share at the end with falling learning rate."""


class Batches:
    """Batches from the stream: fresh rows in order, old ones at random while none are fresh."""

    def __init__(self, stream: RowStream, device: torch.device, rows: int, seed: int) -> None:
        self._stream, self._device, self._rows = stream, device, rows
        self._kept: list[tuple[Tensor, ...]] = []
        self._fresh: list[tuple[Tensor, ...]] = []
        self._random = np.random.default_rng(seed)
        self.fresh_rows = self.repeated_rows = 0

    def take(self) -> tuple[Tensor, ...]:
        """Tokens, positions and marks [rows, L] on the device."""
        while sum(len(part[0]) for part in self._fresh) < self._rows:
            chunk = self._stream.take()
            if chunk is not None:
                tensors = tuple(torch.from_numpy(array).to(self._device) for array in chunk)
                self._fresh.append(tensors)
                self._kept.append(tensors)
            elif len(self._kept) >= 64:
                self.repeated_rows += self._rows
                return self._repeated()
            else:
                time.sleep(0.01)
        joined = tuple(torch.cat(parts) for parts in zip(*self._fresh, strict=True))
        self._fresh = [tuple(tensor[self._rows :] for tensor in joined)]
        self.fresh_rows += self._rows
        return tuple(tensor[: self._rows] for tensor in joined)

    def _repeated(self) -> tuple[Tensor, ...]:
        parts = [self._kept[i] for i in self._random.choice(len(self._kept), 4, replace=False)]
        joined = [torch.cat(tensors) for tensors in zip(*parts, strict=True)]
        order = torch.from_numpy(self._random.permutation(len(joined[0]))[: self._rows])
        return tuple(tensor[order.to(self._device)] for tensor in joined)


def loss_of(network: Network, tokens: Tensor, positions: Tensor, marks: Tensor) -> Tensor:
    """Mean cross entropy of the tokens to be learned, each predicted from those before it."""
    tokens = tokens.long()
    place = marks // 2
    causal = torch.ones(ROW_TOKENS, ROW_TOKENS, dtype=torch.bool, device=tokens.device).tril()
    mask = (place[:, None, :] == place[:, :, None]) & causal
    logits = network(tokens, positions, mask[:, None])[:, :-1]
    learned = (marks[:, 1:] % 2).float().flatten()
    losses = functional.cross_entropy(
        logits.flatten(0, 1).float(), tokens[:, 1:].flatten(), reduction="none"
    )
    return (losses * learned).sum() / learned.sum()


def optimizers(network: Network, rate: float, use_muon: bool) -> list[torch.optim.Optimizer]:
    """AdamW for all, or Muon for the matrices of the layers and AdamW for the rest."""
    matrices = [p for n, p in network.named_parameters() if p.ndim == 2 and "layers" in n]
    embedding = [network.embed_tokens.weight]
    vectors = [p for p in network.parameters() if p.ndim < 2]
    plain_groups = [{"params": embedding}, {"params": vectors, "weight_decay": 0.0}]
    fused = embedding[0].is_cuda
    if use_muon:
        return [
            torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(
                plain_groups, lr=rate, betas=(0.9, 0.95), weight_decay=0.05, fused=fused
            ),
        ]
    groups = [{"params": matrices}, *plain_groups]
    return [torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), weight_decay=0.05, fused=fused)]


def rate_factor(progress: float) -> float:
    """Learning rate relative to its peak after this share of the training."""
    if progress < _WARMUP:
        return max(progress / _WARMUP, 0.01)
    return min(1.0, (1.0 - progress) / _DECAY)


def train(arguments: argparse.Namespace, device: torch.device, encoder: Encoder) -> Network:
    """The trained network, float32."""
    torch.manual_seed(arguments.seed)
    network = Network(Shape(encoder.vocab_size)).to(device)
    if arguments.init:
        from safetensors.torch import load_file

        tensors = load_file(arguments.init)
        network.load_state_dict({k.removeprefix("model."): v for k, v in tensors.items()})
    log.info("%d parameters", sum(p.numel() for p in network.parameters()))
    step_loss = torch.compile(loss_of) if arguments.compile else loss_of
    tools = optimizers(network, arguments.rate, arguments.muon)
    mixture = Mixture(arguments.thinking_share, dict(arguments.emphasis))
    with tempfile.TemporaryDirectory() as folder:
        stream = RowStream(Path(folder), MODEL_FOLDER, arguments.workers, arguments.seed, mixture)
        try:
            batches = Batches(stream, device, arguments.rows, arguments.seed)
            _train_steps(arguments, network, step_loss, tools, batches, device)
        finally:
            stream.close()
    return network


def _train_steps(
    arguments: argparse.Namespace,
    network: Network,
    step_loss: Callable[..., Tensor],
    tools: list[torch.optim.Optimizer],
    batches: Batches,
    device: torch.device,
) -> None:
    begin, step, progress = time.monotonic(), 0, 0.0
    total_loss = torch.zeros((), device=device)
    while progress < 1.0:
        for tool in tools:
            for group in tool.param_groups:
                group["lr"] = arguments.rate * rate_factor(progress)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = step_loss(network, *batches.take())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for tool in tools:
            tool.step()
            tool.zero_grad(set_to_none=True)
        total_loss += loss.detach()
        step += 1
        if step == 1:
            # Compiling is not training: the clock starts after the first step.
            log.info("first step after %.1f s, loss %.3f", time.monotonic() - begin, loss.item())
            begin = time.monotonic()
        elapsed = time.monotonic() - begin
        progress = step / arguments.steps if arguments.steps else elapsed / arguments.seconds
        if step % arguments.log_steps == 0:
            mean = total_loss.item() / arguments.log_steps
            total_loss.zero_()
            speed = step * arguments.rows * ROW_TOKENS / max(elapsed, 1e-3)
            log.info(
                "step %d, %.0f s, loss %.4f, %.2f M tokens/s, %.0f %% of rows repeated",
                step, time.monotonic() - begin, mean, speed / 1e6,
                100 * batches.repeated_rows / (batches.fresh_rows + batches.repeated_rows),
            )  # fmt: skip


def evaluate(network: Network, encoder: Encoder, per_task: int, seed: int) -> dict[str, object]:
    """Accuracies on held-out problems, logged as a table with some mistakes."""
    conversations = held_out(seed, per_task)
    on = measure(network, encoder, conversations, thinks=True)
    off = measure(network, encoder, conversations, thinks=False)
    log.info("%s", table(on, off))
    for task, score in on.items():
        for mistake in score.mistakes:
            log.info("-- %s: %s", task, mistake)
    some = conversations[:: max(1, len(conversations) // 1000)]
    warm = total(measure(network, encoder, some, thinks=True, temperature=0.6))
    log.info("temperature 0.6: %d of %d right, %d ended", warm.right, warm.asked, warm.ended)
    return {
        "seed": seed,
        "thinking": {task: score.right / score.asked for task, score in on.items()},
        "without": {task: score.right / score.asked for task, score in off.items()},
        "all": [total(scores).right / total(scores).asked for scores in (on, off)],
        "ended": [total(scores).ended / total(scores).asked for scores in (on, off)],
        "sampled": {"asked": warm.asked, "right": warm.right, "ended": warm.ended},
    }


def _task_and_factor(text: str) -> tuple[str, float]:
    task, _, factor = text.partition("=")
    return task, float(factor)


def main() -> None:
    """Read the arguments; train, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=MODEL_FOLDER)
    parser.add_argument("--seconds", type=float, default=350.0, help="time of the training")
    parser.add_argument("--steps", type=int, help="steps of the training, instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--rows", type=int, default=192, help="rows of a batch")
    parser.add_argument("--rate", type=float, default=2e-3, help="peak learning rate")
    parser.add_argument("--muon", action="store_true", help="Muon for the layers' matrices")
    parser.add_argument("--thinking-share", type=float, default=0.75)
    parser.add_argument(
        "--emphasis", type=_task_and_factor, nargs="*", default=[], help="add=3 ..."
    )
    parser.add_argument("--init", type=Path, help="go on from these weights")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--log-steps", type=int, default=200)
    parser.add_argument("--per-task", type=int, default=200, help="held-out problems of each task")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder = Encoder(MODEL_FOLDER)
    network = train(arguments, device, encoder)
    write_model(network, encoder, arguments.out)
    # What is measured is what was written.
    for parameter in network.parameters():
        parameter.data = parameter.data.bfloat16().float()
    figures = evaluate(network, encoder, arguments.per_task, seed=1)
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
