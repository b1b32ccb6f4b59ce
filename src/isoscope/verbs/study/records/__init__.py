"""Records of studies: what a run leaves, and the pages that are made from it."""
