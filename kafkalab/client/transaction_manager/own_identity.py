"""An idempotent-only producer gets its producer id from any broker, by itself, before its first batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.failures import failure
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse

if TYPE_CHECKING:
    from kafkalab.client.producer.producer import Producer


class OwnIdentity:
    """One InitProducerId at a time. What the table calls abortable fails the batches that wait, and is asked again."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._asking = False

    def ask(self) -> None:
        """Begin to ask, if that is not under way."""
        if not self._asking:
            self._asking = True
            self.producer.spawn(self._ask())

    async def _ask(self) -> None:
        producer, attempt = self.producer, 0
        while producer.producer_id == -1 and not producer.fatal:
            response: InitProducerIdResponse | None = await producer.connection.call(
                producer.connection.any_broker(), InitProducerId(transactional_id=None)
            )
            if response is None:
                producer.connection.ask_another()
            elif response.error is Error.NONE:
                producer.adopt(response.producer_id, response.producer_epoch)
                producer.sender.answers.restart_sequences()
                break
            elif reaction("InitProducerId", response.error) not in (Reaction.RETRY, Reaction.LOOKUP):
                self._refused(response.error)
                break
            await producer.connection.back_off(attempt)
            attempt += 1
        self._asking = False
        producer.sender.drain()

    def _refused(self, error: Error) -> None:
        producer, what = self.producer, reaction("InitProducerId", error)
        exception = failure("InitProducerId", error, what)
        if what is Reaction.FATAL:
            producer.fail(exception, what)
        else:
            producer.sender.drop(producer.accumulator.all(), exception)
