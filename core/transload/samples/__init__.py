"""Samples: what a model is given many times over, for calibration, verification and evaluation; images made what it takes."""
