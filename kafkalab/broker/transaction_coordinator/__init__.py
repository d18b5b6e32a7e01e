"""The transaction coordinator: states, guards, decision, markers, log, loading and expiration."""
