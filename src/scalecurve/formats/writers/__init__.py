"""One writer per file: a study in the formats of other tools."""
