"""The common part of clients and brokers: messages, errors, records, transition tables, partitions, ACLs, profiles."""
