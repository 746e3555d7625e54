"""Tables as people write them: text (`dialects`, `markup`) and other forms (`forms`) to cells, cells to numbers
(`cells`), columns for K and the observations (`choice`), a role for every other (`roles`), the curves (`curves`)."""
