"""Money and machines: what a result costs, which K to choose, and what to do next."""
