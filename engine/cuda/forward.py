"""The forward pass on the device, written as the model's diagram reads; `ops` does the launching.

Prefill computes the T new tokens of one slot with matrix products. One token of each row is
`decode_step.py`, over the same weights and cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backend import DumpSink
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.ops import Ops
from engine.models.memory_plan import (
    HOPPER_CHUNK_TOKENS,
    PAGE_TOKENS,
    PREFILL_CHUNK_TOKENS,
    kv_pages,
)
from engine.models.model_config import ModelConfig
from engine.models.weights import weight_blocks

Product = Callable[..., None]
"""`product(out, x, weight, rows, accumulate=False)`: a matrix product of `Ops`, or cuBLAS."""


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one layer, bf16; without QK-norm the two head norms are not read."""

    input_layernorm: DeviceArray
    qkv_proj: DeviceArray
    head_norms: tuple[DeviceArray, DeviceArray]
    o_proj: DeviceArray
    post_attention_layernorm: DeviceArray
    gate_up_proj: DeviceArray
    down_proj: DeviceArray


@dataclass(frozen=True, slots=True)
class Placement:
    """Where each row's token stands: its position (-1: idle row), its slot, the slots' pages."""

    positions: DeviceArray
    slots: DeviceArray
    block_table: DeviceArray


class Forward:
    """Weights, cache and activations of one model as views of its memory block."""

    def __init__(
        self,
        config: ModelConfig,
        block: MemoryBlock,
        ops: Ops,
        capacity_tokens: int,
        max_sequences: int,
    ) -> None:
        self._config = config
        self._ops = ops
        self._set_weights(block)
        self._set_cache(block, capacity_tokens, max_sequences)
        self._set_activations(block, max_sequences)
        self.prefill_product: Product = ops.gemm

    def _set_weights(self, block: MemoryBlock) -> None:
        config = self._config
        arrays = {w.name: block.array(w.name, w.shape, np.uint16) for w in weight_blocks(config)}
        self.embed_tokens = arrays["model.embed_tokens.weight"]
        self.norm = arrays["model.norm.weight"]
        self.lm_head = arrays.get("lm_head.weight", self.embed_tokens)
        self.layers = []
        for layer in range(config.num_hidden_layers):
            prefix = f"model.layers.{layer}"
            input_layernorm = arrays[f"{prefix}.input_layernorm.weight"]
            self.layers.append(
                LayerWeights(
                    input_layernorm=input_layernorm,
                    qkv_proj=arrays[f"{prefix}.self_attn.qkv_proj.weight"],
                    head_norms=(
                        arrays.get(f"{prefix}.self_attn.q_norm.weight", input_layernorm),
                        arrays.get(f"{prefix}.self_attn.k_norm.weight", input_layernorm),
                    ),
                    o_proj=arrays[f"{prefix}.self_attn.o_proj.weight"],
                    post_attention_layernorm=arrays[f"{prefix}.post_attention_layernorm.weight"],
                    gate_up_proj=arrays[f"{prefix}.mlp.gate_up_proj.weight"],
                    down_proj=arrays[f"{prefix}.mlp.down_proj.weight"],
                )
            )

    def _set_cache(self, block: MemoryBlock, capacity_tokens: int, max_sequences: int) -> None:
        config = self._config
        count = kv_pages(capacity_tokens, max_sequences)
        shape = (count, config.num_key_value_heads, PAGE_TOKENS, config.head_dim)
        self.pools = [
            (
                block.array(f"layers.{layer}.k_pool", shape, np.uint16),
                block.array(f"layers.{layer}.v_pool", shape, np.uint16),
            )
            for layer in range(config.num_hidden_layers)
        ]
        # Every slot owns an equal run of pages; the kernels go through the table all the same.
        per_slot = count // max_sequences
        self.slot_capacity = capacity_tokens // max_sequences
        self.block_table = block.array("workspace.block_table", (max_sequences, per_slot), np.int32)
        positions = min(per_slot * PAGE_TOKENS, config.max_position_embeddings)
        self.rope_table = block.array(
            "workspace.rope_table", (positions, config.head_dim // 2, 2), np.float32
        )

    def _set_activations(self, block: MemoryBlock, max_sequences: int) -> None:
        config = self._config
        rows = max(PREFILL_CHUNK_TOKENS, max_sequences)
        # These three also serve `hopper_prefill.py`.
        long_rows = max(HOPPER_CHUNK_TOKENS, max_sequences)
        heads = (config.num_attention_heads, config.head_dim)
        kv_values = config.num_key_value_heads * config.head_dim

        def array(name: str, dtype: type[np.generic], *shape: int) -> DeviceArray:
            return block.array(f"workspace.{name}", shape, dtype)

        self._hidden = array("hidden", np.float32, long_rows, config.hidden_size)
        self._norm = array("norm", np.uint16, long_rows, config.hidden_size)
        self._qkv = array("qkv", np.float32, rows, heads[0] * heads[1] + 2 * kv_values)
        self._q = array("q", np.uint16, rows, *heads)
        self._attention = array("attention", np.uint16, rows, *heads)
        self._gate_up = array("gate_up", np.float32, rows, 2 * config.intermediate_size)
        self._swiglu = array("swiglu", np.uint16, rows, config.intermediate_size)
        self.logits = array("logits", np.float32, max_sequences, config.vocab_size)
        self.token_ids = array("token_ids", np.int32, long_rows)
        self.positions = array("positions", np.int32, rows)
        self.slots = array("slots", np.int32, rows)

    def prefill(self, slot: int, rows: int, first_position: int, dump: DumpSink | None) -> None:
        """Compute `rows` tokens of `token_ids`; the last one's logits go to `logits[slot]`."""
        positions = np.arange(first_position, first_position + rows, dtype=np.int32)
        self.positions[:rows].set(positions)
        self.slots[:rows].set(np.full(rows, slot, np.int32))
        placement = Placement(self.positions, self.slots, self.block_table)

        def attention(pools: tuple[DeviceArray, DeviceArray]) -> None:
            self._ops.attention_prefill(
                self._attention, self._q, pools, self.block_table[slot], rows, first_position
            )

        self._layers(self.token_ids, placement, rows, self.prefill_product, attention, dump)
        self.last_logits(slot, rows)
        if dump is not None:
            self.dump_logits(rows, slot, dump)

    def _layers(
        self,
        token_ids: DeviceArray,
        placement: Placement,
        rows: int,
        product: Product,
        attention: Callable[[tuple[DeviceArray, DeviceArray]], None],
        dump: DumpSink | None,
    ) -> None:
        ops = self._ops
        where = (placement.positions, placement.slots, placement.block_table)
        ops.embedding(self._hidden, self.embed_tokens, token_ids, rows)
        if dump is not None:
            dump("hidden.00", self._hidden[:rows].get())
        for index, (layer, pools) in enumerate(zip(self.layers, self.pools, strict=True)):
            ops.rms_norm(self._norm, self._hidden, layer.input_layernorm, rows)
            product(self._qkv, self._norm, layer.qkv_proj, rows)
            ops.qk_norm_rope(
                self._q, pools, self._qkv, layer.head_norms, self.rope_table, where, rows
            )
            attention(pools)
            product(self._hidden, self._attention, layer.o_proj, rows, accumulate=True)
            ops.rms_norm(self._norm, self._hidden, layer.post_attention_layernorm, rows)
            product(self._gate_up, self._norm, layer.gate_up_proj, rows)
            ops.swiglu(self._swiglu, self._gate_up, rows)
            product(self._hidden, self._swiglu, layer.down_proj, rows, accumulate=True)
            if dump is not None:
                dump(f"hidden.{index + 1:02d}", self._hidden[:rows].get())

    def last_logits(self, slot: int, rows: int) -> None:
        """Logits of the last of `rows` rows."""
        self._ops.decode_product(
            self._ops.products.lm_head,
            self.logits[slot : slot + 1],
            self._hidden[rows - 1 : rows],
            self.lm_head,
            1,
            self.norm,
        )

    def layer_products(self, layer: LayerWeights, product: Product, rows: int) -> None:
        """The four products of a layer on whatever the activations hold: for timing only."""
        product(self._qkv, self._norm, layer.qkv_proj, rows)
        product(self._hidden, self._attention, layer.o_proj, rows, accumulate=True)
        product(self._gate_up, self._norm, layer.gate_up_proj, rows)
        product(self._hidden, self._swiglu, layer.down_proj, rows, accumulate=True)

    def dump_logits(self, rows: int, slot: int, dump: DumpSink) -> None:
        """Logits of every row: the work space has room for one row a slot, so row by row."""
        self._ops.rms_norm(self._norm, self._hidden, self.norm, rows)
        dump("hidden.norm", _bf16_rows(self._norm, rows))
        kept = self.logits[slot].get()
        out = np.empty((rows, self._config.vocab_size), np.float32)
        for row in range(rows):
            self.last_logits(slot, row + 1)
            out[row] = self.logits[slot].get()
        self.logits[slot].set(kept)
        dump("logits", out)


def _bf16_rows(array: DeviceArray, rows: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    bits = array[:rows].get()
    return np.asarray((bits.astype(np.uint32) << 16).view(np.float32))
