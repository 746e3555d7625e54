"""The explorer: a small server that guards, processes that compute by the public verbs, and a page that shows."""
