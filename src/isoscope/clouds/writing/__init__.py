"""Writing clouds: a file becomes another of its kind, with its vectors changed."""

from isoscope.clouds.writing.change import Change
from isoscope.clouds.writing.rewriting import Written, rewrite_files

__all__ = ["Change", "Written", "rewrite_files"]
