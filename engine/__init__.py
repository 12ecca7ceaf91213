"""The Qt-free inference library; `engine.api` is its surface, `python -m engine` its proof."""
