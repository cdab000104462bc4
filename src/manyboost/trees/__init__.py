"""The tree core: bins, exact sums, one grower, a forest that scores. It knows nothing of boosting."""
