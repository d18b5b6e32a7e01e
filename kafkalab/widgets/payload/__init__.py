"""A run as the browser gets it: sentences, fields and patches."""
