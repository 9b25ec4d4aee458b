"""TOW: task weights by trajectory optimisation."""
