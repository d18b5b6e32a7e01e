"""The key pass: 14 audits in one numpy walk over each bucket of keys."""
