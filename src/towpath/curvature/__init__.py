"""Estimates of the curvature of a loss in the parameters, one kind of matrix per file."""
