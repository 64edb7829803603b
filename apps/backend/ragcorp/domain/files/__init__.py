"""Files in place: values, paths, allowed roots. Opens nothing."""
