"""A cluster for real clients in a notebook: it runs beside the cells, frames can be held, and views grow with it."""
