"""One broker's facts and state: pure functions and plain data, standard library only."""
