"""The client pass: audits of what one client's transactions did on several keys; start at `client_pass.client_pass`."""
