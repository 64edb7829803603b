"""Values of one search: requests, ranked lists, candidates, responses and roll-out. Values only, no ranking rules."""
