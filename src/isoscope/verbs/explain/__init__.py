"""Why a space is filled as it is: frequency, position, norms, outliers, senses, structure."""
