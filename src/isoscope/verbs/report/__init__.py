"""Results as pictures and as one page that opens anywhere."""
