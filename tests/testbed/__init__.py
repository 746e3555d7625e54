"""Real engines and shaped hosts on one machine, started and stopped by the tests that need them."""
