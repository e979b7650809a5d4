"""``tauto run --fit``: as many threads as the CPUs that a program may use, without a search."""

from typing import Literal

Form = Literal["env", "slurm", "systemd", "kubernetes", "profile"]
