"""Independent computations that the tests compare the library with."""
