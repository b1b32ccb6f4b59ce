"""Tables of PostgreSQL with pgvector, as clouds and as places to write to.

The package is imported when the first address of a table is opened, and only then needs psycopg.
"""

import logging

from isoscope.errors import require

require(
    "psycopg",
    "PostgreSQL needs psycopg, which is not installed; pip install 'isoscope[search]'",
)
# It logs what it cannot do on a connection that is cut, with the user's name in it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
