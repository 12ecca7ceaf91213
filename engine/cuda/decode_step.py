"""One decode step, as the model's diagram reads: one token of each row, four kernels a layer where
one sequence's self-attention runs in clusters, else five.

All state that changes from step to step lies in device memory, so that one captured graph serves
every step. On 9.0 and up each kernel starts to fetch its weights while the one before it still
runs (`dependent_launch.py`). That chain begins anew with the embedding, which lets nobody start
before the previous step has ended: so every kernel may read ahead what earlier steps left.
"""

from __future__ import annotations

import numpy as np

from engine.backend import DumpSink
from engine.cuda.forward import Forward, LayerWeights
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.ops import Ops
from engine.models.memory_plan import DECODE_SPLITS
from engine.models.model_config import ModelConfig

Pools = tuple[DeviceArray, DeviceArray]
PagePlacement = tuple[DeviceArray, DeviceArray, DeviceArray]


class DecodeStep:
    """The decode step of one model: its activations are views of the same block."""

    def __init__(
        self,
        config: ModelConfig,
        ops: Ops,
        block: MemoryBlock,
        forward: Forward,
        max_sequences: int,
    ) -> None:
        self._ops = ops
        self._forward = forward
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        head_dim = config.head_dim

        def array(name: str, dtype: type[np.generic], *shape: int) -> DeviceArray:
            return block.array(f"workspace.{name}", (max_sequences, *shape), dtype)

        self._hidden = array("hidden", np.float32, config.hidden_size)
        self._qkv = array("qkv", np.float32, (heads + 2 * kv_heads) * head_dim)
        self._attention = array("attention", np.uint16, heads * head_dim)
        self._swiglu = array("swiglu", np.uint16, config.intermediate_size)
        self._scratch = (
            array("partial_out", np.float32, heads, DECODE_SPLITS, head_dim),
            array("partial_max", np.float32, heads, DECODE_SPLITS),
            array("partial_sum", np.float32, heads, DECODE_SPLITS),
            array("arrivals", np.uint32, kv_heads),
        )
        arrivals = self._scratch[3]
        arrivals.set(np.zeros(arrivals.shape, np.uint32))

    def run(
        self,
        token_ids: DeviceArray,
        positions: DeviceArray,
        slots: DeviceArray,
        rows: int,
        dump: DumpSink | None = None,
    ) -> None:
        """Launch one step of `rows` rows [B]; row b's logits go to `forward.logits[b]`."""
        ops, forward, hidden = self._ops, self._forward, self._hidden
        placement = (positions, slots, forward.block_table)
        ops.embedding(hidden, forward.embed_tokens, token_ids, rows)
        if dump is not None:
            dump("hidden.00", hidden[:rows].get())
        for index, (layer, pools) in enumerate(zip(forward.layers, forward.pools, strict=True)):
            self._layer(layer, pools, placement, rows)
            if dump is not None:
                dump(f"hidden.{index + 1:02d}", hidden[:rows].get())
        logits = forward.logits
        lm_head = ops.products.lm_head
        ops.decode_product(lm_head, logits, hidden, forward.lm_head, rows, forward.norm)
        if dump is not None:
            dump("logits", logits[:rows].get())

    def _layer(
        self, layer: LayerWeights, pools: Pools, placement: PagePlacement, rows: int
    ) -> None:
        ops, products, hidden = self._ops, self._ops.products, self._hidden
        norm, table = layer.input_layernorm, self._forward.rope_table
        if ops.cluster_attention is not None and rows == 1:
            ops.self_attention(
                *(ops.cluster_attention, self._attention, pools, hidden),
                *((norm, layer.qkv_proj), layer.head_norms, table, placement),
            )
        else:
            ops.decode_product(products.qkv, self._qkv, hidden, layer.qkv_proj, rows, norm)
            ops.decode_attention(
                *(self._attention, pools, self._qkv, layer.head_norms, table),
                *(placement, self._scratch, rows),
            )
        ops.decode_product(products.o, hidden, self._attention, layer.o_proj, rows)
        norm = layer.post_attention_layernorm
        ops.decode_product(products.gate_up, self._swiglu, hidden, layer.gate_up_proj, rows, norm)
        ops.decode_product(products.down, hidden, self._swiglu, layer.down_proj, rows)
