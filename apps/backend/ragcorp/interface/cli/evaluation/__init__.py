"""eval: retrieval and answers measured over an evaluation set."""
