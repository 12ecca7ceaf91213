"""Many replies at once with a key-value cache, for the evaluation on the training machine."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from resources.demo_model.make.network import Network, rope_tables


def _drawn(logits: Tensor, temperature: float) -> Tensor:
    """Greedy at 0, else temperature, the 20 best, and of these the best that make up 0.95."""
    if not temperature:
        return logits.argmax(-1)
    best, ids = (logits / temperature).topk(20, -1)
    probs = best.softmax(-1)
    probs = probs.masked_fill(probs.cumsum(-1) - probs > 0.95, 0.0)
    return ids.gather(-1, torch.multinomial(probs, 1))[:, 0]


@torch.inference_mode()
def generate(
    network: Network,
    prompts: Sequence[Sequence[int]],
    ends: frozenset[int],
    max_new_tokens: int,
    temperature: float = 0.0,
) -> list[list[int]]:
    """One reply for each prompt, its end token included if it ended by itself."""
    device = network.embed_tokens.weight.device
    shape = network.shape
    count, longest = len(prompts), max(map(len, prompts))
    total = longest + max_new_tokens
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    padded = [[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts]
    tokens = torch.tensor(padded, device=device)
    size = (shape.num_hidden_layers, count, shape.num_key_value_heads, total, shape.head_dim)
    keys, values = torch.zeros(size, device=device), torch.zeros(size, device=device)
    rows = torch.arange(count, device=device)
    rope = rope_tables(torch.arange(longest, device=device)[None], shape)
    # Padding stands behind the prompt: no token of the prompt sees it.
    mask = torch.ones(longest, longest, dtype=torch.bool, device=device).tril()[None, None]
    x = network.embed_tokens(tokens)
    for index, layer in enumerate(network.layers):
        q, k, v = layer.self_attn.project(layer.input_layernorm(x), rope)
        keys[index, :, :, :longest], values[index, :, :, :longest] = k, v
        x = layer.finish(x, layer.self_attn.attend(q, k, v, mask))
    x = x[rows, lengths - 1]
    end_ids = torch.tensor(sorted(ends), device=device)
    finished = torch.zeros(count, dtype=torch.bool, device=device)
    drawn: list[Tensor] = []
    slots = torch.arange(total, device=device)
    for step in range(max_new_tokens):
        logits = functional.linear(network.norm(x), network.embed_tokens.weight)
        token = torch.where(finished, end_ids[0], _drawn(logits, temperature))
        drawn.append(token)
        finished = finished | torch.isin(token, end_ids)
        if step % 16 == 0 and bool(finished.all()):
            break
        at = lengths + step
        rope = rope_tables(at[:, None], shape)
        seen = (slots[None] <= at[:, None])[:, None, None]
        x = network.embed_tokens(token)[:, None]
        for index, layer in enumerate(network.layers):
            q, k, v = layer.self_attn.project(layer.input_layernorm(x), rope)
            keys[index, rows, :, at], values[index, rows, :, at] = k[:, :, 0], v[:, :, 0]
            x = layer.finish(x, layer.self_attn.attend(q, keys[index], values[index], seen))
        x = x[:, 0]
    replies = torch.stack(drawn, 1).tolist()
    return [_cut(reply, ends) for reply in replies]


def _cut(reply: list[int], ends: frozenset[int]) -> list[int]:
    for index, token in enumerate(reply):
        if token in ends:
            return reply[: index + 1]
    return reply
