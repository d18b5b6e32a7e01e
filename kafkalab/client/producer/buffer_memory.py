"""What does not fit: records larger than a request or than all memory, and memory that is full (`BufferPool`)."""

from __future__ import annotations

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.exceptions import BufferExhaustedError, RecordTooLargeError
from kafkalab.client.producer.accumulator import Accumulator
from kafkalab.client.producer.batch import size_of
from kafkalab.protocol.records import Record


def check_size(record: Record, config: ProducerConfig) -> None:
    """RecordTooLargeError for a record that no request takes, or that memory never holds."""
    size = size_of(record)
    said = f"The message is {size} bytes when serialized which is larger than "
    if size > config.max_request_size:
        said += f"{config.max_request_size}, which is the value of the max.request.size configuration."
        raise RecordTooLargeError(said)
    if size > config.buffer_memory:
        said += "the total memory buffer you have configured with the buffer.memory configuration."
        raise RecordTooLargeError(said)


def exhausted(record: Record, accumulator: Accumulator, waited_ms: int) -> BufferExhaustedError:
    """Kafka's exception for memory that stays full."""
    return BufferExhaustedError(
        f"Failed to allocate {max(accumulator.batch_size_bytes, size_of(record))} bytes within the configured max "
        f"blocking time {waited_ms} ms. Total memory: {accumulator.memory_bytes} bytes. Available memory: "
        f"{accumulator.free_bytes} bytes. Poolable size: {accumulator.batch_size_bytes} bytes"
    )
