"""All audits of histories: by the pure checks, or by passes in the workers; start at `audit.audit`."""
