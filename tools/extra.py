"""Print the requirements of one optional-dependencies group of pyproject.toml, one a line."""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    extra = sys.argv[1]
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    print("\n".join(project["optional-dependencies"][extra]))


if __name__ == "__main__":
    main()
