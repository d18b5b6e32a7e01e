"""The labs as a folder of files for any web server: Python runs in the browser, nothing on the server.

Start at `build.py`, then `lite.py`.
"""
