"""What the page can ask, one module for each view."""
