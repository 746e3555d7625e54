"""Tables as people write them: text to cells (`dialects`), cells to numbers (`cells`), wide to long (`layout`),
a role for every column (`roles`), and the curves that come of it (`curves`)."""
