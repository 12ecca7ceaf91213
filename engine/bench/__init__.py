"""Measures how fast a model runs on this machine: `python -m engine.bench --help`."""
