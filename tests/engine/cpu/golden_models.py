"""The tiny models of tests/golden/engine: both families, tied and not, with odd group sizes."""

SEED = 20
POSITIONS = 24

GOLDEN_MODELS = {
    "qwen3_tied": ("qwen3", {}),
    "qwen3_untied": ("qwen3", {"tie_word_embeddings": False, "num_key_value_heads": 1}),
    "llama_untied": ("llama", {}),
    "llama_tied": (
        "llama",
        {
            "tie_word_embeddings": True,
            "hidden_size": 72,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "rms_norm_eps": 1e-5,
        },
    ),
}
"""Name of the file: (model_type, overrides of tiny_config)."""
