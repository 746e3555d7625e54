"""Laws fitted to a study, ranked by how well they predict K they were not fitted to."""
