"""Clusters of rows: k-means over a cloud of any size, and the moments of each cluster."""
