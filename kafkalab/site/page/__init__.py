"""One page with Python in it: a run that is really made in the browser, and made again at every press."""
