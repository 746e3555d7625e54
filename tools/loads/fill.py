"""Copy a configuration into a folder with @d@ replaced by the folder: python fill.py TEMPLATE FOLDER"""

import sys
from pathlib import Path

template, folder = Path(sys.argv[1]), Path(sys.argv[2])
(folder / template.name).write_text(template.read_text(encoding="ascii").replace("@d@", str(folder)), encoding="ascii")
