//! The measuring loop every Rust peer shares. A peer implements [`Client`] (what
//! threads may share) and [`Peer`] (what one thread drives), and its `main` is
//! `harness::main::<Mine>()`. One run measures one thing and prints one line of
//! `key=value` pairs; ../drive.py runs, interleaves and compares them.
//!
//!   PEER get      url= [n= warm= threads= share=0|1 fresh=1 ports=K] [variant=]
//!   PEER stream   url= n=            download, body dropped as it comes
//!   PEER upload   url= n= bytes=     POST of `bytes` zeroes from memory
//!   PEER first    url=               time from main() to the first response
//!   PEER idle     url=               VmRSS after one request
//!   PEER failover url= url2= [ct=ms] naive loop over two URLs until one answers
//! ca=FILE is the PEM of trusted roots, for https. ports=K makes request i go to
//! port+(i mod K), to see what many endpoints cost.

use std::time::{Duration, Instant};

pub type Res<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Clone, Debug, Default)]
pub struct Cfg {
    pub url: String,
    pub url2: String,
    pub ca: Option<String>,
    pub variant: String,
    pub n: u64,
    pub warm: u64,
    pub threads: usize,
    pub share: bool,
    pub fresh: bool,
    pub bytes: usize,
    pub ports: usize,
    /// Connect timeout; None leaves the client's own default.
    pub ct: Option<Duration>,
}

pub trait Client: Send + Sync + Sized + 'static {
    type Peer: Peer;
    /// Whether two threads can use one client (and so its pool) at once.
    const SHAREABLE: bool;
    fn new(cfg: &Cfg) -> Res<Self>;
    /// A handle for one thread, on this client's pool.
    fn peer(&self) -> Self::Peer;
}
pub trait Peer: Send {
    /// GET, and the whole body in memory by the client's own idiom. Its length.
    fn get(&mut self, url: &str) -> Res<usize>;
    /// GET, and the body read through a small buffer. Its length.
    fn stream(&mut self, url: &str) -> Res<usize>;
    /// POST from memory. The status must be a success.
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()>;
}

fn cpu_us() -> (f64, f64) {
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
    let f = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (f(r.ru_utime), f(r.ru_stime))
}
fn vm(key: &str) -> u64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    s.lines()
        .find_map(|l| {
            l.strip_prefix(key)?.strip_prefix(':')?.trim().strip_suffix(" kB")?.trim().parse().ok()
        })
        .unwrap_or(0)
}
fn with_port(url: &str, add: usize) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (auth, path) = rest.split_once('/').unwrap();
    let (host, port) = auth.rsplit_once(':').unwrap();
    format!("{scheme}://{host}:{}/{path}", port.parse::<usize>().unwrap() + add)
}

pub fn main<C: Client>() {
    let t0 = Instant::now();
    let mut args = std::env::args().skip(1);
    let mode = args.next().expect("mode");
    let mut c = Cfg { n: 1000, threads: 1, ports: 1, ..Cfg::default() };
    let mut warm = None;
    for a in args {
        let (k, v) = a.split_once('=').expect("key=value");
        let num = || v.parse::<u64>().expect(k);
        match k {
            "url" => c.url = v.into(),
            "url2" => c.url2 = v.into(),
            "ca" => c.ca = Some(v.into()),
            "variant" => c.variant = v.into(),
            "n" => c.n = num(),
            "warm" => warm = Some(num()),
            "threads" => c.threads = num() as usize,
            "share" => c.share = num() == 1,
            "fresh" => c.fresh = num() == 1,
            "bytes" => c.bytes = num() as usize,
            "ports" => c.ports = num() as usize,
            "ct" => c.ct = Some(Duration::from_millis(num())),
            _ => panic!("unknown {k}"),
        }
    }
    c.warm = warm.unwrap_or(if c.n >= 1000 { 200.max(c.ports as u64) } else { c.ports as u64 });
    if let Err(e) = run::<C>(&mode, &c, t0) {
        println!("error={}", e.to_string().replace([' ', '\n'], "_"));
        std::process::exit(1);
    }
}

fn run<C: Client>(mode: &str, c: &Cfg, t0: Instant) -> Res<()> {
    match mode {
        "get" => get::<C>(c),
        "stream" | "upload" => {
            let client = C::new(c)?;
            let mut p = client.peer();
            let body = vec![b'x'; if mode == "upload" { c.bytes } else { 0 }];
            p.get(&c.url.replace("/b/10485760", "/b/1024"))?;
            let rss0 = vm("VmRSS");
            let (u0, s0) = cpu_us();
            let t = Instant::now();
            let mut total = 0usize;
            for _ in 0..c.n {
                total += if mode == "stream" {
                    p.stream(&c.url)?
                } else {
                    p.post(&c.url, &body)?;
                    body.len()
                };
            }
            let dt = t.elapsed().as_secs_f64();
            let (u1, s1) = cpu_us();
            println!(
                "mbps={:.1} cpu_us={:.1} rss0_kb={rss0} hwm_kb={} bytes={total}",
                total as f64 / 1e6 / dt,
                (u1 + s1 - u0 - s0) / c.n as f64,
                vm("VmHWM")
            );
            Ok(())
        }
        "first" | "idle" => {
            let client = C::new(c)?;
            let mut p = client.peer();
            p.get(&c.url)?;
            let us = t0.elapsed().as_nanos() as f64 / 1e3;
            println!("first_us={us:.1} rss_kb={} hwm_kb={}", vm("VmRSS"), vm("VmHWM"));
            Ok(())
        }
        "failover" => {
            let client = C::new(c)?;
            let mut p = client.peer();
            let mut v = Vec::new();
            for _ in 0..c.n {
                let t = Instant::now();
                let mut ok = false;
                for u in [&c.url, &c.url2] {
                    if p.get(u).is_ok() {
                        ok = true;
                        break;
                    }
                }
                if !ok {
                    return Err("neither answered".into());
                }
                v.push(t.elapsed().as_nanos() as f64 / 1e3);
            }
            let first = v[0];
            v.sort_by(f64::total_cmp);
            println!(
                "first_us={first:.1} p50_us={:.1} max_us={:.1}",
                v[v.len() / 2],
                v[v.len() - 1]
            );
            Ok(())
        }
        _ => Err("unknown mode".into()),
    }
}

fn get<C: Client>(c: &Cfg) -> Res<()> {
    if c.share && !C::SHAREABLE {
        println!("na=not_shareable");
        return Ok(());
    }
    let urls: Vec<String> = if c.ports > 1 {
        (0..c.ports).map(|i| with_port(&c.url, i)).collect()
    } else {
        vec![c.url.clone()]
    };
    let shared = if c.share { Some(C::new(c)?) } else { None };
    let mut workers = Vec::new();
    for _ in 0..c.threads {
        let own = if shared.is_none() { Some(C::new(c)?) } else { None };
        let mut p = shared.as_ref().or(own.as_ref()).unwrap().peer();
        for i in 0..c.warm {
            p.get(&urls[i as usize % urls.len()])?;
        }
        workers.push((p, own, Vec::<u32>::with_capacity(c.n as usize)));
    }
    let (u0, s0) = cpu_us();
    let t = Instant::now();
    let rss = std::sync::atomic::AtomicU64::new(0);
    let body = |(mut p, own, mut lat): (C::Peer, Option<C>, Vec<u32>)| -> Res<Vec<u32>> {
        let mut bytes = 0usize;
        for i in 0..c.n {
            let a = Instant::now();
            bytes += p.get(&urls[i as usize % urls.len()])?;
            lat.push(a.elapsed().as_nanos() as u32);
        }
        std::hint::black_box(bytes);
        if c.ports > 1 || c.threads > 1 {
            rss.fetch_max(vm("VmRSS"), std::sync::atomic::Ordering::Relaxed);
        } // while the pool is alive
        drop((p, own));
        Ok(lat)
    };
    let mut lat: Vec<u32> = if c.threads == 1 {
        body(workers.pop().unwrap())?
    } else {
        std::thread::scope(|s| -> Res<Vec<u32>> {
            let hs: Vec<_> = workers.into_iter().map(|w| s.spawn(|| body(w))).collect();
            let mut all = Vec::new();
            for h in hs {
                all.extend(h.join().unwrap()?);
            }
            Ok(all)
        })?
    };
    let dt = t.elapsed().as_secs_f64();
    let (u1, s1) = cpu_us();
    let n = lat.len() as f64;
    lat.sort_unstable();
    let q = |f: f64| lat[((lat.len() as f64 * f) as usize).min(lat.len() - 1)] as f64 / 1e3;
    println!(
        "rps={:.0} p50_us={:.1} p99_us={:.1} user_us={:.2} sys_us={:.2} cpu_us={:.2} rss_kb={}",
        n / dt,
        q(0.5),
        q(0.99),
        (u1 - u0) / n,
        (s1 - s0) / n,
        (u1 + s1 - u0 - s0) / n,
        rss.into_inner().max(vm("VmRSS"))
    );
    Ok(())
}
