"""A backend without a model: each slot's n-th sampled token is given beforehand."""

from __future__ import annotations

from engine.api import LoadProgress, MemoryPlan
from engine.backend import SampledToken


class FakeBackend:
    """Keeps the contract of `Backend` strictly and asserts that its caller does.

    `script` holds the tokens of each reply: the n-th sampled token of a reply is `script[n]`,
    whatever the prompt is, the last one again and again at the end. `before_prefill` and
    `before_decode` are called first, so a test can cancel or raise there.
    """

    device_name = "Fake"
    on_gpu = False
    graph_refused = False
    device_wait_s = 0.0

    def __init__(self, script, capacity_tokens=64, max_sequences=1, chunk=8):
        self.script = script
        self.capacity_tokens = capacity_tokens
        self.max_sequences = max_sequences
        self.slot_capacity = capacity_tokens // max_sequences
        self.prefill_chunk_tokens = chunk
        self.cached = [[] for _ in range(max_sequences)]
        self.pending = [None] * max_sequences
        self.sampled = [0] * max_sequences
        self.samplers = [None] * max_sequences
        self.prefilled = []  # (slot, ids) of each call
        self.decoded = []  # (slots, steps) of each call
        self.begun = 0  # steps that the last `decode` was told of, and that no call forgot
        self.before_prefill = lambda: None
        self.before_decode = lambda: None
        self.closed = False

    def load(self, control):
        yield LoadProgress("weights", 1, 1)

    def memory(self):
        return MemoryPlan(1, 2, 3)

    def length(self, slot):
        return len(self.cached[slot])

    def truncate(self, slot, length):
        self.begun = 0
        del self.cached[slot][length:]
        self.pending[slot] = None

    def set_sampler(self, slot, sampling, seed, prompt_ids, generated_ids, detail):
        self.begun = 0
        self.samplers[slot] = (sampling, seed, list(prompt_ids), list(generated_ids), detail)
        self.sampled[slot] = len(generated_ids)

    def prefill(self, slot, token_ids, sample, dump=None):
        self.before_prefill()
        assert 1 <= len(token_ids) <= self.prefill_chunk_tokens
        assert len(self.cached[slot]) + len(token_ids) <= self.slot_capacity
        self.begun = 0
        self.prefilled.append((slot, list(token_ids)))
        self.cached[slot] += token_ids
        self.pending[slot] = None
        return self._sample(slot) if sample else None

    def decode(self, slots, steps, stop_token_ids, steps_ahead=0):
        self.before_decode()
        assert steps >= 1
        assert self.begun in (0, steps)
        self.begun = steps_ahead
        self.decoded.append((tuple(slots), steps))
        found = {slot: [] for slot in slots}
        for slot in slots:
            assert self.pending[slot] is not None
            while len(found[slot]) < steps and self.pending[slot] not in stop_token_ids:
                if len(self.cached[slot]) == self.slot_capacity:
                    break
                self.cached[slot].append(self.pending[slot])
                found[slot].append(self._sample(slot))
        return found

    def close(self):
        self.closed = True

    def _sample(self, slot):
        token_id = self.script[min(self.sampled[slot], len(self.script) - 1)]
        self.sampled[slot] += 1
        self.pending[slot] = token_id
        return SampledToken(token_id, -0.5, 1, ((token_id, -0.5), (0, -2.0)))
