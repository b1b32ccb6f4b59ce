"""Writing files so that a killed run leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from isoscope.errors import UsageError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a temporary file in the same folder, then rename it; text becomes UTF-8."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=".isoscope-", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; the result gets the rights that open() would give it.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
