"""Cost, deadlines and budgets, and which runs to make next."""
