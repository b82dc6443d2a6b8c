//! One fault at every byte of the exchange (R1, R2, R13); the second endpoint is well.

use crate::cell::{Below, Cell, Framing, Message, answer};
use crate::origin::{Fault, Point};
use crate::{Chance, Ground, alone, full, say, seed, sweep};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How a connection ends while bytes of the client may lie unread.
const UNREAD: &[Fault] = &[Fault::Fin, Fault::Close, Fault::Reset, Fault::Stall];
/// And when all was read: a close is then a FIN.
const READ: &[Fault] = &[Fault::Fin, Fault::Reset, Fault::Stall];

pub const FRAMINGS: [Framing; 3] = [Framing::Length, Framing::Chunked, Framing::UntilClose];

/// A plain run takes one cell of so many.
const PART: usize = 6;

#[test]
fn one_fault_at_every_byte() {
    let _alone = alone();
    let ground = Ground::new();
    let mut cells = every_cell(&ground);
    let all = cells.len();
    if full() {
        return sweep("fault matrix", &ground, &cells);
    }
    let seed = seed();
    cells.retain(|cell| is_in_part(cell, seed));
    say(&format!("fault matrix: a part of {all} cells, ANYHOST_SEED={seed}"));
    sweep("fault matrix", &ground, &cells);
}

/// The few that are unlike their neighbours always; of the others by what a cell is, not by its place:
/// handshakes have a few bytes more or less in each run.
fn is_in_part(cell: &Cell, seed: u64) -> bool {
    if cell.point == Point::Idle || cell.message == Message::PostLarge {
        return true;
    }
    let mut digest = DefaultHasher::new();
    format!("{cell:?}").hash(&mut digest);
    Chance(seed ^ digest.finish()).below(PART) == 0
}

fn every_cell(ground: &Ground) -> Vec<Cell> {
    let mut cells = Vec::new();
    for below in [Below::Tcp, Below::Tls12, Below::Tls13] {
        let places = [0, 1, 50, 100, 150, 1000, 10_000, 70_000];
        for (n, reused) in places.iter().flat_map(|&n| [(n, false), (n, true)]) {
            let (message, framing, point) = (Message::PostLarge, Framing::Length, Point::Read(n));
            let cell = |&fault| Cell { message, below, reused, framing, point, fault, then: None };
            cells.extend(UNREAD.iter().map(cell));
        }
        for message in [Message::Get, Message::Post, Message::PostChunked] {
            let (request, handshake) = ground.sizes(message, below);
            for reused in [false, true] {
                let mut add = |framing, point, faults: &[Fault]| {
                    let cell =
                        |&fault| Cell { message, below, reused, framing, point, fault, then: None };
                    cells.extend(faults.iter().map(cell));
                    if below != Below::Tcp
                        && !matches!(point, Point::Sealed(_) | Point::Handshake(_))
                    {
                        cells.push(cell(&Fault::Goodbye));
                    }
                };
                let any = Framing::Length;
                if below == Below::Tls13 && !reused && message != Message::PostChunked {
                    // Up to the tickets, which follow the handshake; every byte of a length that
                    // changes from run to run would prove no more.
                    (0..handshake).step_by(7).for_each(|n| add(any, Point::Handshake(n), UNREAD));
                }
                add(any, Point::Idle, UNREAD);
                (0..=request).for_each(|n| add(any, Point::Read(n), UNREAD));
                if message == Message::PostChunked {
                    continue;
                }
                for framing in FRAMINGS {
                    let size = answer("a", framing).bytes.len();
                    (1..=size).for_each(|n| add(framing, Point::Sent(n), READ));
                    if below == Below::Tls13 && !reused {
                        // A record has a frame of 22 bytes in TLS 1.3.
                        (1..=size + 44).for_each(|n| add(framing, Point::Sealed(n), READ));
                    }
                }
            }
        }
    }
    cells
}
