"""What is computed from two reads of a cloud.

Importing the package registers every measure.
"""

from isoscope.measures import families  # noqa: F401
