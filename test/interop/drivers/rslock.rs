// rslock on tokio; the driver for test/interop, which README.md there explains. It is the only one in Rust, and so has the part
// in it that others have in lines.*.
use rslock::{Lock, LockManager};
use std::io::BufRead;
use std::time::Duration;

const COUNTING_TTL: Duration = Duration::from_secs(60);

struct Peer {
    manager: LockManager,
    lock: Option<(Vec<u8>, Vec<u8>)>, // name and owner
}

impl Peer {
    async fn acquire(&mut self, ttl: Duration, name: &str) -> bool {
        match self.manager.lock(name.as_bytes(), ttl).await {
            Ok(lock) => {
                self.lock = Some((lock.resource.clone(), lock.val.clone()));
                true
            }
            Err(_) => false, // it does not tell a refusal from anything else
        }
    }

    fn handle(&self) -> Lock {
        let (resource, val) = self.lock.clone().expect("a lock");
        Lock { resource, val, validity_time: 0, lock_manager: self.manager.clone() }
    }

    async fn extend(&mut self, ttl: Duration) -> bool {
        self.manager.extend(&self.handle(), ttl).await.is_ok()
    }

    async fn release(&mut self) -> bool {
        self.manager.unlock(&self.handle()).await; // it does not tell what became of it
        true
    }

    // Adds to the number in a file, under the lock; waits for it by asking again.
    async fn add(&mut self, times: usize, name: &str, path: &str) {
        for _ in 0..times {
            while !self.acquire(COUNTING_TTL, name).await {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
                tokio::time::sleep(Duration::from_millis(2 + u64::from(now.subsec_nanos()) / 1000 % 18)).await;
            }
            let number: u64 = std::fs::read_to_string(path).expect("the file").trim().parse().expect("a number");
            std::fs::write(path, (number + 1).to_string()).expect("the file");
            self.release().await;
        }
    }

    async fn answer(&mut self, words: &[&str]) -> String {
        let number: u64 = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let ttl = Duration::from_millis(number);
        let say = |done: bool, yes: &str, no: &str| (if done { yes } else { no }).to_string();
        match words[0] {
            "acquire" => say(self.acquire(ttl, words[2]).await, "held", "refused"),
            "extend" => say(self.extend(ttl).await, "extended", "lost"),
            "release" => say(self.release().await, "released", "lost"),
            "add" => {
                self.add(number as usize, words[2], words[3]).await;
                "added".to_string()
            }
            other => format!("failed: unknown command {other}"),
        }
    }
}

#[tokio::main]
async fn main() {
    let nodes: Vec<String> = std::env::args().skip(2).map(|node| format!("redis://{node}/")).collect();
    let mut manager = LockManager::new(nodes);
    manager.set_retry(1, Duration::ZERO);
    let mut peer = Peer { manager, lock: None };
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        println!("{}", peer.answer(&line.split_whitespace().collect::<Vec<_>>()).await);
    }
}
