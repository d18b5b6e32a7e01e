"""The clients: a producer and a consumer whose methods are named as the Java client's, as coroutines."""
