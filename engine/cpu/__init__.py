"""NumPy backend: the readable reference, and the fallback without an NVIDIA GPU."""
