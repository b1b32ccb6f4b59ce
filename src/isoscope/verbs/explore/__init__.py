"""A local page to look at vectors: corrections and layers live, neighbours before and after."""
