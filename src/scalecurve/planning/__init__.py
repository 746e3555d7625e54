"""Cost, deadlines and which runs to make next."""
