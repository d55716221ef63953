"""What another chip would bring: a network compiled for variations of one, side by side (`sweep`), as a picture, as a command."""
