"""Whether a file is what isoscope wrote: results, corrections and journals."""
