"""What `tauto tune` is shown on: small products and equations, which more threads only slow down."""

import numpy

random = numpy.random.default_rng(1)
matrix, right = random.random((100, 100)), random.random(100)
for _ in range(1500):
    right = numpy.linalg.solve(matrix @ matrix, right)
    right /= numpy.abs(right).max()
print(f"{right.sum():.6f}")
