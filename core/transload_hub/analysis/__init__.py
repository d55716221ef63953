"""What can be known of a module without running it: intervals, widths of integers, bounds of errors."""
