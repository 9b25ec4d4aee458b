"""What things cost, always as ratios measured in one run."""
