"""The course as a static folder that any host serves: no server, no kernel, nothing installed."""
