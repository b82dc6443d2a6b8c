//! A fault at each of two endpoints: still no write is carried out twice (R1).

use crate::cell::{Below, Cell, Message, answer};
use crate::origin::{Fault, Point};
use crate::single::FRAMINGS;
use crate::{Chance, Ground, alone, full, say, seed, sweep};

/// The server's part in a handshake, where the first endpoint's session is taken up again at the
/// second, has at least as many bytes.
const RESUMED: usize = 200;

#[test]
fn two_faults_in_sequence() {
    let _alone = alone();
    let ground = Ground::new();
    let seed = seed();
    let mut chance = Chance(seed);
    let count = if full() { 4000 } else { 400 };
    let cells: Vec<Cell> = (0..count).map(|_| any(&ground, &mut chance)).collect();
    say(&format!("two faults in sequence: ANYHOST_SEED={seed}"));
    sweep("two faults in sequence", &ground, &cells);
}

fn any(ground: &Ground, chance: &mut Chance) -> Cell {
    let below = chance.of(&[Below::Tcp, Below::Tcp, Below::Tls12, Below::Tls13]);
    let message = chance.of(&[Message::Get, Message::Post, Message::PostChunked]);
    let framing = chance.of(&FRAMINGS);
    let first = point(ground, chance, message, below, answer("a", framing).bytes.len());
    let then = point(ground, chance, message, below, answer("b", FRAMINGS[0]).bytes.len());
    // A connection that never came about cannot have been used before.
    let reused = !matches!(first, Point::Dial | Point::Handshake(_)) && chance.below(2) == 0;
    let then = Some((then, fault(chance, then, below)));
    Cell { message, below, reused, framing, point: first, fault: fault(chance, first, below), then }
}

/// Half of them before the request is sent, where a POST goes on to the second fault.
fn point(
    ground: &Ground,
    chance: &mut Chance,
    message: Message,
    below: Below,
    answer: usize,
) -> Point {
    let (request, _) = ground.sizes(message, below);
    match chance.below(8) {
        0 | 1 => Point::Dial,
        2 | 3 if below == Below::Tls13 => Point::Handshake(chance.below(RESUMED)),
        4 => Point::Idle,
        5 => Point::Read(chance.below(request + 1)),
        6 if below == Below::Tls13 => Point::Sealed(1 + chance.below(answer + 44)),
        _ => Point::Sent(1 + chance.below(answer)),
    }
}

fn fault(chance: &mut Chance, point: Point, below: Below) -> Fault {
    match point {
        Point::Dial | Point::Handshake(_) | Point::Sealed(_) => {
            chance.of(&[Fault::Fin, Fault::Close, Fault::Reset, Fault::Stall])
        }
        _ if below != Below::Tcp => {
            chance.of(&[Fault::Fin, Fault::Goodbye, Fault::Close, Fault::Reset, Fault::Stall])
        }
        _ => chance.of(&[Fault::Fin, Fault::Close, Fault::Reset, Fault::Stall]),
    }
}
