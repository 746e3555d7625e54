"""The web page: a small server that guards, workers that compute through `api`, and a page that shows."""
