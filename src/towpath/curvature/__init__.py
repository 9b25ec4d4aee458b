"""The curvature of a loss in the parameters: one matrix a file."""
