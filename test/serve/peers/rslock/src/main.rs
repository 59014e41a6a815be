// rslock through the RESP port; what the words mean is in ../../run.
use rslock::LockManager;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).expect("say the port");
    let mut manager = LockManager::new(vec![format!("redis://127.0.0.1:{port}/")]);
    manager.set_retry(0, Duration::from_millis(1));
    let lock = manager.lock(b"peer", TTL).await;
    println!("{}", if lock.is_ok() { "held" } else { "refused" });
    let lock = lock.expect("the lock");
    println!("{}", if manager.lock(b"peer", TTL).await.is_ok() { "held" } else { "refused" });
    println!("{}", if manager.extend(&lock, TTL).await.is_ok() { "extended" } else { "lost" });
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    manager.unlock(&lock).await;
    println!("released");
}
