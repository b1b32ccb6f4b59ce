"""Faults at every call that changes files, and cut connections, for benchmarks and tests."""
