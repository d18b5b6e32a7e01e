//! Rust's kacrab, told what to do line by line: a name, a call, its arguments.

mod instance;

use std::collections::HashMap;
use std::env::var;
use std::error::Error;
use std::io::{BufRead, stdin};
use std::time::Duration;

use instance::Instance;
use kacrab::common::TopicPartition;
use kacrab::consumer::{Consumer, ConsumerRecord};
use kacrab::producer::{Producer, ProducerRecord};
use tokio::runtime::Runtime;

pub type Done<T> = Result<T, Box<dyn Error>>;
pub const POLL: Duration = Duration::from_millis(300);

#[derive(Default)]
struct Things {
    producers: HashMap<String, Producer>,
    consumers: HashMap<String, Consumer>,
    instances: HashMap<String, Instance>,
}

/// The clients' own tasks run in the runtime's threads while this one waits for a line.
fn main() -> Done<()> {
    let (runtime, mut things) = (Runtime::new()?, Things::default());
    for line in stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        let outcome = match runtime.block_on(things.run(&words)) {
            Ok(value) => format!("ok\t{value}"),
            Err(error) => format!("error\t{}", describe(error.as_ref())),
        };
        println!("{}", outcome.replace('\n', " "));
    }
    Ok(())
}

/// Begins with FATAL if the producer can do nothing more: it is fenced, or has refused to abort.
fn describe(error: &dyn Error) -> String {
    let text = format!("{error:?}");
    let fatal = ["FATAL", "ProducerFenced", "InvalidProducerEpoch"].iter().any(|name| text.contains(name));
    if fatal { format!("FATAL {text}") } else { text }
}

impl Things {
    async fn run(&mut self, c: &[&str]) -> Done<String> {
        match c[1] {
            "producer" => drop(self.producers.insert(c[0].into(), producer(c[2], c[3]).await?)),
            "consumer" => drop(self.consumers.insert(c[0].into(), consumer(c[2], c[3], c[4], c[5]).await?)),
            "instance" => drop(self.instances.insert(c[0].into(), Instance::new(&c[2..]).await?)),
            "init" => self.producers[c[0]].init_transactions().await?,
            "begin" => self.producers[c[0]].begin_transaction()?,
            "enqueue" => drop(self.producers[c[0]].send(record(c)?)?),
            "send" => return Ok(self.producers[c[0]].send(record(c)?)?.await?.offset.to_string()),
            "commit" => match self.consumers.get_mut(c[0]) {
                Some(reader) => reader.commit_sync().await?,
                None => self.producers[c[0]].commit_transaction().await?,
            },
            "abort" => self.producers[c[0]].abort_transaction().await?,
            "poll" => {
                let records = self.consumers.get_mut(c[0]).ok_or("no consumer")?.poll(POLL).await?;
                return Ok(records.iter().map(row).collect::<Vec<_>>().join(","));
            }
            "step" => return self.instances.get_mut(c[0]).ok_or("no instance")?.step(c[2] == "commit").await,
            "assigned" => return Ok(self.instances[c[0]].assigned().to_string()),
            "committed" => return committed(c[2], c[3], TopicPartition::new(c[4], c[5].parse()?)).await,
            "close" => self.close(c[0]).await?,
            call => return Err(call.into()),
        }
        Ok(String::new())
    }

    async fn close(&mut self, name: &str) -> Done<()> {
        if let Some(reader) = self.consumers.remove(name) {
            reader.close().await;
        }
        if let Some(instance) = self.instances.remove(name) {
            instance.close().await?;
        }
        if let Some(producer) = self.producers.remove(name) {
            producer.close().await?;
        }
        Ok(())
    }
}

fn record(c: &[&str]) -> Done<ProducerRecord> {
    Ok(ProducerRecord::new(c[2], c[3].parse()?).value(c[4].to_string()))
}

fn row(one: &ConsumerRecord) -> String {
    format!("{}:{}:{}", one.partition, one.offset, value_of(one))
}

pub fn value_of(one: &ConsumerRecord) -> String {
    String::from_utf8_lossy(one.value.as_deref().unwrap_or_default()).into_owned()
}

/// Without an id an idempotent producer: that is the default.
pub async fn producer(servers: &str, id: &str) -> Done<Producer> {
    let (request, longest) = (var("CLIENT_REQUEST_MS"), var("CLIENT_LONGEST_MS"));
    let mut config = vec![("bootstrap.servers", servers), ("linger.ms", "0")];
    if !id.is_empty() {
        config.push(("transactional.id", id));
    }
    if let (Ok(request), Ok(longest)) = (&request, &longest) {
        config.push(("request.timeout.ms", request));
        config.extend(["delivery.timeout.ms", "max.block.ms", "transaction.timeout.ms"].map(|name| (name, longest.as_str())));
    }
    Ok(Producer::from_map(config).await?)
}

pub async fn consumer(servers: &str, group: &str, topic: &str, isolation: &str) -> Done<Consumer> {
    let mut config = vec![
        ("bootstrap.servers", servers),
        ("group.id", group),
        ("isolation.level", isolation),
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"),
        ("heartbeat.interval.ms", "500"),
    ];
    if var("CLIENT_REQUEST_MS").is_ok() {
        config.push(("session.timeout.ms", "6000"));
    }
    let mut made = Consumer::from_map(config).await?;
    if !topic.is_empty() {
        made.subscribe([topic])?;
    }
    Ok(made)
}

async fn committed(servers: &str, group: &str, place: TopicPartition) -> Done<String> {
    let mut asking = consumer(servers, group, "", "read_committed").await?;
    let found = asking.committed(std::slice::from_ref(&place)).await;
    asking.close().await;
    Ok(found?.get(&place).map_or(-1, |one| one.offset).to_string())
}
