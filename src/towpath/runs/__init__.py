"""What a run leaves behind: its folder, its records, its scores, and comparisons of them."""
