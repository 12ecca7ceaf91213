"""Thinkpane: private local chat, the thinking beside the answer."""
