"""Thinkpane: private local chat, the thinking beside the answer."""

__version__ = "0.1.0"
