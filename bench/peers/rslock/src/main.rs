// rslock with its defaults on tokio: one LockManager, every client a task. The workloads are those of bench/bench.h.
use rslock::LockManager;
use std::io::BufRead;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(15);

#[derive(Default)]
struct Client {
    waits: Vec<u128>,
    cut_off: usize,
    errors: usize,
}

async fn work(manager: LockManager, name: String, contend: bool, until: Instant) -> Client {
    let mut client = Client::default();
    let mut asked = Instant::now();
    while Instant::now() < until {
        match manager.lock(name.as_bytes(), TTL).await {
            Ok(lock) => {
                client.waits.push(asked.elapsed().as_nanos());
                manager.unlock(&lock).await;
            }
            Err(_) => {
                client.errors += 1;
                if contend {
                    continue; // it still wants the lock
                }
            }
        }
        asked = Instant::now();
    }
    if contend {
        client.waits.push(asked.elapsed().as_nanos());
        client.cut_off += 1;
    }
    client
}

async fn pass(manager: &LockManager, count: usize, contend: bool, seconds: f64) -> Vec<Client> {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = (0..count)
        .map(|i| {
            let name = format!("bench:{:08}", if contend { 0 } else { i });
            tokio::spawn(work(manager.clone(), name, contend, until))
        })
        .collect();
    let mut clients = Vec::new();
    for task in tasks {
        clients.push(task.await.expect("a client failed"));
    }
    clients
}

fn figures(clients: &[Client], elapsed: f64) -> String {
    let counts: Vec<usize> = clients.iter().map(|c| c.waits.len() - c.cut_off).collect();
    let mut waits: Vec<u128> = clients.iter().flat_map(|c| c.waits.iter().copied()).collect();
    waits.sort_unstable();
    let pairs: usize = counts.iter().sum();
    let mut line = format!(
        "{{\"pairs\": {}, \"pairs_per_s\": {}, \"seconds\": {}, \"least\": {}, \"most\": {}, \"errors\": {}",
        pairs,
        pairs as f64 / elapsed,
        elapsed,
        counts.iter().min().unwrap_or(&0),
        counts.iter().max().unwrap_or(&0),
        clients.iter().map(|c| c.errors).sum::<usize>()
    );
    for (key, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        if !waits.is_empty() {
            let wait = waits[(share * (waits.len() - 1) as f64) as usize];
            line += &format!(", \"acquire_{}_us\": {}", key, wait as f64 / 1e3);
        }
    }
    line + "}"
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let nodes: Vec<String> = words[1].split(',').map(|node| format!("redis://{node}/")).collect();
    let contend = words[2] == "contend";
    let count: usize = words[3].parse().expect("clients");
    let seconds: f64 = words[4].parse().expect("seconds");
    let manager = LockManager::new(nodes);
    pass(&manager, count, contend, 0.3).await;
    println!("ready");
    std::io::stdin().lock().lines().next();
    let started = Instant::now();
    let clients = pass(&manager, count, contend, seconds).await;
    println!("{}", figures(&clients, started.elapsed().as_secs_f64()));
}
