"""Pure fusion of ranked lists: RRF, linear fusion, thresholds. No I/O, clock or randomness."""
