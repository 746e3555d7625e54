"""Money and machines: what a result costs, which K to choose, and which runs to make next."""
