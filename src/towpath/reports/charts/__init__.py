"""Charts: inline SVG for the page, PNG files for folders."""
