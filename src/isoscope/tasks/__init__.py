"""What a space is good for: benchmarks with their data, protocol, scores and intervals."""
