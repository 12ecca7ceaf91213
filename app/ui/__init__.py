"""Widgets: they show things and emit intentions; they know no engine, file or thread."""
