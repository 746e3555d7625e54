"""Write a file of repeatable text that compresses like prose: python text.py FILE BYTES"""

import random
import sys

rng = random.Random(1)
words = ["".join(rng.choices("etaoinshrdlucmfwypvbgkqjxz", k=rng.randint(2, 9))) for _ in range(5000)]
line = " ".join(rng.choices(words, [1 / (i + 1) for i in range(len(words))], k=400_000))
size = int(sys.argv[2])
with open(sys.argv[1], "w", encoding="ascii") as stream:
    stream.write((line * (size // len(line) + 1))[:size])
