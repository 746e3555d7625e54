"""Running a scaling study of a real job: settings, order, launchers, evidence, and what may be believed of it."""
