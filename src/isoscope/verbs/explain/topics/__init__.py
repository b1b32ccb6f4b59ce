"""One file per topic that explain can answer."""
