"""Small models trained from nothing, to find out what makes a space uneven."""
