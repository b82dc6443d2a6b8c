//! Three nginx behind one client, restarted one after the other while it makes 500 calls a second.

use crate::Going;
use crate::nginx::Nginx;
use crate::program::say;
use crate::support::*;
use anyhost::{Client, Delivery};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const PER_SECOND: u64 = 500;

/// No GET fails and no POST is carried out twice, counted in the logs of the three.
#[test]
fn a_rolling_restart() {
    let name = "a_rolling_restart";
    let seconds = std::env::var("ANYHOST_ROLLING").map(|text| text.parse().expect("seconds"));
    let seconds: u64 = seconds.unwrap_or(6);
    let server = "location / { return 200 ok; }";
    let start = || Nginx::start(name, "keepalive_requests 1000;", server);
    let (Some(a), Some(b), Some(c)) = (start(), start(), start()) else { return };
    let mut nginxes = [a, b, c];
    let client = nginxes
        .iter()
        .fold(Client::builder(), |builder, nginx| builder.base_urls(&nginx.to_string()));
    let client = client.selection(anyhost::Selection::Weighted).build().unwrap();

    let (going, next) = (Going::default(), AtomicUsize::new(0));
    let (failed, restarts) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while going.on() {
                    // Calls are due at fixed times, whatever became of those before.
                    let i = next.fetch_add(1, SeqCst);
                    let due = Duration::from_micros(i as u64 * 1_000_000 / PER_SECOND);
                    thread::sleep(due.saturating_sub(began.elapsed()));
                    let method = ["GET", "POST"][i % 2];
                    if let Err(error) = client.request(method, &format!("/{i}")).send() {
                        failed.lock().unwrap().push((i, method, error));
                    }
                }
            });
        }
        let stop = going.until_dropped();
        for place in (0..3).cycle() {
            if began.elapsed() >= Duration::from_secs(seconds) {
                break;
            }
            nginxes[place].restart();
            restarts.fetch_add(1, SeqCst);
            // The time it serves before the next one goes, as a careful operator grants it.
            thread::sleep(ms(250));
        }
        drop(stop);
    });
    let (took, made) = (began.elapsed(), next.into_inner());
    let failed = failed.into_inner().unwrap();

    let mut times: HashMap<String, usize> = HashMap::new();
    for nginx in &mut nginxes {
        nginx.end();
        for line in nginx.log() {
            assert_eq!(line.status, 200, "{}", line.request);
            *times.entry(line.request).or_default() += 1;
        }
    }
    let twice: Vec<_> = times
        .iter()
        .filter(|(request, times)| request.starts_with("POST") && **times > 1)
        .collect();
    let gets: Vec<_> = failed.iter().filter(|(_, method, _)| *method == "GET").collect();
    let line = format!(
        "rolling restart: {made} calls in {:.1} s ({:.0}/s), {} restarts: {} GET and {} POST failed, \
         {} POST twice",
        took.as_secs_f64(),
        made as f64 / took.as_secs_f64(),
        restarts.into_inner(),
        gets.len(),
        failed.len() - gets.len(),
        twice.len()
    );
    say(&line);
    assert!(gets.is_empty(), "{gets:?}");
    assert!(twice.is_empty(), "{twice:?}");
    for (i, method, error) in &failed {
        // What was answered is not told as an error, and what was not sent would have moved on.
        assert_eq!(error.delivery(), Delivery::Maybe, "{method} {i}: {error}");
    }
    for i in 0..made {
        let method = ["GET", "POST"][i % 2];
        let answered = !failed.iter().any(|(failed, ..)| *failed == i);
        let logged = times.contains_key(&format!("{method} /{i}"));
        assert!(logged || !answered, "{method} /{i} was answered by nobody");
    }
}
