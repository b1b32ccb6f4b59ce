"""What vectors are worth on benchmarks, and whether isotropy has to do with it."""
