"""Python in a page of the book: a worker makes the runs that presses ask for. The page's side is `python.ts`."""
