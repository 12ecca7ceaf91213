"""Qt-free text engine: Markdown blocks, code colours, formulas to SVG."""
