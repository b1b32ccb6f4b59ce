"""Results for people: one grid of text behind the terminal, Markdown and HTML tables."""
