"""The common part of clients and brokers: messages, errors, records, partitions, metadata, ACLs, rules and profiles."""
