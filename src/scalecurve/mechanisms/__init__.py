"""Where the constants of the laws come from: networks, rooflines, task graphs, stragglers, latencies."""
