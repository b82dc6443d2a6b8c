//! Three members of an etcd cluster through its HTTP gateway, one killed and started again under writes.
//!
//! The service decides what is true here: it keeps a version for each key, so that a write carried out
//! twice shows, and every acknowledged one can be asked for.

use crate::Going;
use crate::program::{self, Folder, Program, find};
use crate::support::*;
use anyhost::{Client, Delivery, Resend};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

struct Member {
    name: String,
    client: SocketAddr,
    peer: SocketAddr,
}

struct Cluster {
    etcd: PathBuf,
    members: Vec<Member>,
    programs: Vec<Option<Program>>,
    folder: Folder,
}

impl Cluster {
    /// Three members. `None` is a named skip.
    fn start(test: &str) -> Option<Cluster> {
        let etcd = find(test, "etcd")?;
        let member = |i: usize| Member {
            name: format!("m{i}"),
            client: program::address(),
            peer: program::address(),
        };
        let members: Vec<Member> = (0..3).map(member).collect();
        let programs = vec![None, None, None];
        let mut cluster = Cluster { etcd, members, programs, folder: Folder::new("etcd") };
        (0..3).for_each(|place| cluster.launch(place));
        (0..3).for_each(|place| cluster.wait_for(place));
        Some(cluster)
    }

    fn launch(&mut self, place: usize) {
        let Member { name, client, peer } = &self.members[place];
        let all = self.members.iter().map(|m| format!("{}=http://{}", m.name, m.peer));
        let all = all.collect::<Vec<_>>().join(",");
        let (client, peer) = (format!("http://{client}"), format!("http://{peer}"));
        let mut command = Command::new(&self.etcd);
        command.args(["--name", name, "--initial-cluster", &all, "--data-dir"]);
        command.arg(self.folder.path().join(name));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster-state", "new", "--unsafe-no-fsync"]);
        self.programs[place] = Some(Program::start(name, &mut command, &self.folder));
    }

    /// Waits until it says that it is well, which it does once there is a leader.
    fn wait_for(&mut self, place: usize) {
        let url = format!("http://{}", self.members[place].client);
        let client = Client::new(&url).unwrap();
        let program = self.programs[place].as_mut().expect("it was started");
        program.wait_until("it is well", |_| {
            client.get("/health").send().is_ok_and(|answer| answer.status() == 200)
        });
    }

    fn kill(&mut self, place: usize) {
        let mut program = self.programs[place].take().expect("it runs");
        program.signal(libc::SIGKILL);
        program.wait_for_end();
    }

    fn url(&self, place: usize) -> String {
        format!("http://{}", self.members[place].client)
    }
}

/// The one text of this name in an answer.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

/// base64 of what has a length divisible by 3, so that there is nothing to pad.
fn coded(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for piece in text.as_bytes().chunks(3) {
        let bits = piece.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        (0..4).rev().for_each(|i| coded.push(LETTERS[bits >> (6 * i) & 63].into()));
    }
    coded
}

/// What a client knows of one write.
struct Written {
    key: String,
    acknowledged: bool,
}

/// Every acknowledged write is there and none was carried out twice, while each member in turn is killed
/// and comes back. Each write also sets a counter, in one transaction, and etcd counts how often that was
/// done: once for each write that there is.
#[test]
fn every_acknowledged_write_once() {
    let name = "every_acknowledged_write_once";
    let Some(mut cluster) = Cluster::start(name) else { return };
    let client = (0..3).fold(Client::builder(), |c, i| c.base_urls(&cluster.url(i)));
    // A member without a leader answers after some seconds, or not at all.
    let client = client.attempt_timeout(ms(2000)).hold_for(ms(1000)).build().unwrap();
    let going = Going::default();
    let (acknowledged, reads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let written = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for writer in 0..3 {
            let (client, going, written) = (&client, &going, &written);
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                for i in 0..99_999 {
                    if !going.on() {
                        break;
                    }
                    let key = coded(&format!("w{writer}{i:07}"));
                    let put = |key: &str| format!(r#"{{"requestPut":{{"key":"{key}"}}}}"#);
                    let both = format!("{},{}", put(&key), put(&coded("counter..")));
                    let body = format!(r#"{{"success":[{both}]}}"#);
                    let result = client.post("/v3/kv/txn").body(body).send();
                    let good = match &result {
                        Ok(answer) => answer.status() == 200,
                        Err(error) => {
                            assert!(error.delivery() <= Delivery::Answered);
                            false
                        }
                    };
                    acknowledged.fetch_add(usize::from(good), SeqCst);
                    written.lock().unwrap().push(Written { key, acknowledged: good });
                }
            });
        }
        // What is only read may be asked again, whatever its method.
        scope.spawn(|| {
            let body = format!(r#"{{"key":"{}"}}"#, coded("counter.."));
            while going.on() {
                let asked = client.post("/v3/kv/range").body(body.clone()).set("resend", "any");
                if asked.send().is_ok_and(|answer| answer.status() == 200) {
                    reads.fetch_add(1, SeqCst);
                }
            }
        });
        let progress = |program: &mut Cluster, what: &str| {
            let before = (acknowledged.load(SeqCst), reads.load(SeqCst));
            let place = program.programs.iter().position(Option::is_some).expect("one runs");
            program.programs[place].as_mut().expect("it runs").wait_until(what, |_| {
                acknowledged.load(SeqCst) >= before.0 + 50 && reads.load(SeqCst) >= before.1 + 20
            });
        };
        let stop = going.until_dropped();
        progress(&mut cluster, "writes go on with all");
        for place in 0..3 {
            cluster.kill(place);
            progress(&mut cluster, "writes go on with two");
            cluster.launch(place);
            cluster.wait_for(place);
            progress(&mut cluster, "writes go on with all again");
        }
        drop(stop);
    });

    let written = written.into_inner().unwrap();
    let version = |key: &str| {
        let body = format!(r#"{{"key":"{key}"}}"#);
        let read = client.post("/v3/kv/range").body(body).resend(Resend::Any).send().unwrap();
        let text = read.text().unwrap();
        assert_eq!(read.status(), 200, "{text}");
        field(text, "version").map_or(0, |version| version.parse::<usize>().unwrap())
    };
    let (mut unknown, mut there) = (0, 0);
    for Written { key, acknowledged } in &written {
        let version = version(key);
        let right = if *acknowledged { version == 1 } else { version <= 1 };
        assert!(right, "{key} has version {version}, acknowledged: {acknowledged}");
        unknown += usize::from(!acknowledged);
        there += version;
    }
    assert_eq!(version(&coded("counter..")), there, "the counter counts each write once");
    let line = format!(
        "etcd: {} writes, {unknown} not acknowledged, {there} there, {} reads",
        written.len(),
        reads.into_inner()
    );
    program::say(&line);
    assert!(unknown * 5 < written.len(), "{line}");
}
