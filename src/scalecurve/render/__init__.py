"""Results for people: pictures, HTML, Markdown, LaTeX, exports and the report.  Nothing is computed here."""
