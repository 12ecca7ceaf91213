"""CUDA backend on CuPy: the only package that imports CuPy."""
