"""How a notebook's Python starts quickly in a browser, and how it is interrupted there."""
