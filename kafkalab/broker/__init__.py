"""A broker: state, handlers, both coordinators, replication and leadership; and the controller."""
