"""Why a space is filled as it is: frequency, so far."""
