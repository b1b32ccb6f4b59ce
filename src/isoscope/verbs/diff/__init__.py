"""How two clouds differ, and what may be kept."""
