"""Eigenvalues of symmetric matrices, which OpenBLAS computes with as many threads as it likes."""

import numpy

random = numpy.random.default_rng(1)
total = 0.0
for _ in range(6):
    matrix = random.random((300, 300))
    total += numpy.linalg.eigvalsh(matrix + matrix.T).max()
print(f"{total:.6f}")
