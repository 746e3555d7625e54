"""Results a user sees: a plan over P, one layout evaluated, an explanation, constants from measured runs."""
