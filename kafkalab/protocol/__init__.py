"""What clients and brokers share: messages, errors, records, partitions, metadata, ACLs, rules and profiles."""
