use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kacrab::common::{OffsetAndMetadata, TopicPartition};
use kacrab::consumer::{Consumer, ConsumerRecords};
use kacrab::producer::{Producer, ProducerError, ProducerRecord};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::{Done, POLL, consumer, producer, value_of};

type Answer = Result<String, String>;
/// Whether to commit, and whom to tell what came of it.
type Order = (bool, oneshot::Sender<Answer>);

/// A processor in a task of its own: `poll` waits for the group's other members, whatever its timeout is.
pub struct Instance {
    ready: mpsc::Receiver<oneshot::Sender<Order>>,
    assigned: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Instance {
    pub async fn new(c: &[&str]) -> Done<Self> {
        let reader = consumer(c[0], c[1], c[2], "read_committed").await?;
        let writer = producer(c[0], c[4]).await?;
        writer.init_transactions().await?;
        let processor = Processor { consumer: reader, producer: writer, out: c[3].into() };
        let (has_records, ready) = mpsc::channel(1);
        let assigned = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(processor.work(has_records, assigned.clone()));
        Ok(Self { ready, assigned, task })
    }

    /// Has one poll's records handled, if some come in time; returns their values.
    pub async fn step(&mut self, commit: bool) -> Done<String> {
        let Ok(processor) = timeout(POLL, self.ready.recv()).await else {
            return Ok(String::new());
        };
        let (sender, answer) = oneshot::channel();
        drop(processor.ok_or("the processor has ended")?.send((commit, sender)));
        Ok(answer.await??)
    }

    pub fn assigned(&self) -> usize {
        self.assigned.load(Ordering::Relaxed)
    }

    pub async fn close(self) -> Done<()> {
        drop(self.ready);
        Ok(self.task.await?)
    }
}

/// Consumes, transforms and produces as <https://pirumu.github.io/kacrab/producer/idempotency.html> does: each poll is
/// a transaction; the records are in flight until it commits.
struct Processor {
    consumer: Consumer,
    producer: Producer,
    out: String,
}

impl Processor {
    async fn work(mut self, ready: mpsc::Sender<oneshot::Sender<Order>>, assigned: Arc<AtomicUsize>) {
        loop {
            let polled = self.consumer.poll(POLL).await;
            assigned.store(self.consumer.assignment().len(), Ordering::Relaxed);
            let records = match polled {
                Ok(records) if records.is_empty() && !ready.is_closed() => continue,
                polled => polled,
            };
            let (sender, order) = oneshot::channel();
            if ready.send(sender).await.is_err() {
                break;
            }
            let Ok((commit, answer)) = order.await else { break };
            let done = match records {
                Ok(records) => self.handle(&records, commit).await,
                Err(error) => Err(format!("{error:?}")),
            };
            drop(answer.send(done));
        }
        self.consumer.close().await;
        self.producer.close_now();
    }

    /// Returns the values that have passed; after an error that can be aborted none, and the records come again.
    async fn handle(&mut self, records: &ConsumerRecords, commit: bool) -> Answer {
        let mut values: Vec<String> = records.iter().map(value_of).collect();
        match self.transact(records, commit).await {
            Ok(()) if commit => return Ok(values.join(",")),
            Ok(()) => {}
            Err(_) => values.clear(),
        }
        self.producer.abort_transaction().await.map_err(|error| format!("FATAL {error:?}"))?;
        self.rewind().await.map_err(|error| format!("{error:?}"))?;
        Ok(values.join(","))
    }

    async fn transact(&self, records: &ConsumerRecords, commit: bool) -> Result<(), ProducerError> {
        self.producer.begin_transaction()?;
        let mut offsets = HashMap::new();
        for one in records.iter() {
            let record = ProducerRecord::new(self.out.as_str(), one.partition).value(value_of(one));
            drop(self.producer.send(record)?); // the commit waits for it
            offsets.insert(one.topic_partition(), OffsetAndMetadata::new(one.offset + 1));
        }
        self.producer.send_offsets_to_transaction(offsets, self.consumer.group_metadata()).await?;
        if commit {
            self.producer.commit_transaction().await?;
        }
        Ok(())
    }

    async fn rewind(&mut self) -> Done<()> {
        let places: Vec<TopicPartition> = self.consumer.assignment();
        let committed = self.consumer.committed(&places).await?;
        for place in &places {
            match committed.get(place) {
                Some(found) => self.consumer.seek(place, found.offset)?,
                None => self.consumer.seek_to_beginning(std::slice::from_ref(place)).await?,
            }
        }
        Ok(())
    }
}
