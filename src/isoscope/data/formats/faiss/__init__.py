"""FAISS index files, which a child process reads: a forged file can end that process only."""
