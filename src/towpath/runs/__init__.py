"""The files that a run leaves behind: folder, records, scores, and comparisons of runs."""
