//! What this process holds of the system, at rest.

use std::fs;

#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) threads: usize,
    pub(crate) files: usize,
    /// KiB of memory in use.
    pub(crate) resident: usize,
}

impl Measured {
    pub(crate) fn now() -> Measured {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
        };
        let files = fs::read_dir("/proc/self/fd").expect("Linux").count();
        Measured { threads: value("Threads:"), files, resident: value("VmRSS:") }
    }
}
