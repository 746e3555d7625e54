"""What a user says: model, cluster, layout, stack, and the settings of a plan."""
