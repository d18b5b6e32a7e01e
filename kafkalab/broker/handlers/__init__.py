"""One file for each API that a broker serves: `handle(broker, request, now, header)`."""
