//! An outage of one endpoint of four and its recovery, in virtual time, as a picture.
//!
//! ```text
//! cargo run --example outage -- outage.svg
//! ```
//!
//! A client with the preset `resilient` makes 200 calls a second for 90 seconds. One endpoint refuses
//! from second 20 to second 50. No socket is opened and nothing waits: the network is scripted, the
//! clock is moved by hand, and the seed makes every run the same.

use anyhost::testing::{ManualClock, Reply, ScriptedTransport};
use anyhost::{Client, Endpoint, EventKind, State};
use plotters::prelude::*;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ENDPOINTS: [&str; 4] = ["a", "b", "c", "d"];
const DOWN: usize = 2;
const OUTAGE: std::ops::Range<usize> = 20..50;
const SECONDS: usize = 90;
const CALLS_PER_SECOND: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "outage.svg".to_owned());
    let story = simulate()?;
    draw(&story, &file)?;
    let failed: u32 = story.failed.iter().sum();
    let calls = SECONDS * CALLS_PER_SECOND;
    println!("{calls} calls, {failed} failed; {file} shows where they went");
    Ok(())
}

/// What happened, second by second.
struct Story {
    /// Calls answered by each endpoint.
    answered: Vec<[u32; ENDPOINTS.len()]>,
    /// Calls that ended without an answer.
    failed: Vec<u32>,
    /// When an endpoint went over to a state.
    turns: Vec<(f64, usize, State)>,
}

fn simulate() -> Result<Story, Box<dyn Error>> {
    let network = ENDPOINTS
        .iter()
        .fold(ScriptedTransport::new(), |network, name| network.on(&url(name), [healthy()]));
    let clock = network.clock();
    let turns = Arc::new(Mutex::new(Vec::new()));
    let client = client(&network, &clock, turns.clone())?;

    let mut story = Story { answered: Vec::new(), failed: Vec::new(), turns: Vec::new() };
    for second in 0..SECONDS {
        match second {
            _ if second == OUTAGE.start => {
                network.now_on(&url(ENDPOINTS[DOWN]), [Reply::refused()])
            }
            _ if second == OUTAGE.end => network.now_on(&url(ENDPOINTS[DOWN]), [healthy()]),
            _ => {}
        }
        let (mut answered, mut failed) = ([0; ENDPOINTS.len()], 0);
        for call in 0..CALLS_PER_SECOND {
            let due = (second * CALLS_PER_SECOND + call) as f64 / CALLS_PER_SECOND as f64;
            clock.advance(Duration::from_secs_f64(due).saturating_sub(clock.elapsed()));
            match client.get("/status").send() {
                Ok(answer) => answered[place(answer.endpoint())] += 1,
                Err(_) => failed += 1,
            }
        }
        story.answered.push(answered);
        story.failed.push(failed);
    }
    story.turns = turns.lock().expect("nobody panicked").clone();
    Ok(story)
}

fn client(
    network: &ScriptedTransport,
    clock: &ManualClock,
    turns: Arc<Mutex<Vec<(f64, usize, State)>>>,
) -> Result<Client, anyhost::Error> {
    let mut builder = Client::builder().preset("resilient").seed(7);
    for name in ENDPOINTS {
        builder = builder.endpoint(Endpoint::new(&url(name))?.label(name));
    }
    let watch = clock.clone();
    builder
        .transport(network.clone())
        .clock(clock.clone())
        .on_event(move |event| {
            let (Some(endpoint), Some(state)) = (event.endpoint(), event.new_state()) else {
                return;
            };
            if event.kind() == EventKind::StateChanged {
                let at = watch.elapsed().as_secs_f64();
                turns.lock().expect("nobody panicked").push((at, place(endpoint), state));
            }
        })
        .build()
}

fn healthy() -> Reply {
    Reply::ok("ok").takes(Duration::from_millis(2))
}

fn url(name: &str) -> String {
    format!("https://{name}.example")
}

fn place(label: &str) -> usize {
    ENDPOINTS.iter().position(|name| *name == label).expect("a label of this client")
}

fn colour(endpoint: usize) -> RGBColor {
    [RGBColor(46, 98, 158), RGBColor(87, 157, 204), RGBColor(214, 104, 39), RGBColor(140, 190, 178)]
        [endpoint]
}

fn state_colour(state: State) -> RGBColor {
    match state {
        State::Eligible => RGBColor(196, 226, 196),
        State::Cooling => RGBColor(214, 80, 70),
        State::ProbeAllowed | State::Probing => RGBColor(242, 196, 76),
        State::Disabled => RGBColor(150, 150, 150),
    }
}

fn draw(story: &Story, file: &str) -> Result<(), Box<dyn Error>> {
    let picture = SVGBackend::new(file, (900, 560)).into_drawing_area();
    picture.fill(&WHITE)?;
    let (shares, rest) = picture.split_vertically(300);
    let (states, failures) = rest.split_vertically(140);
    draw_shares(story, &shares)?;
    draw_states(story, &states)?;
    draw_failures(story, &failures)?;
    picture.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Of 100 answers in each second, how many each endpoint gave, one above the other.
fn draw_shares(story: &Story, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption("Share of answers, endpoint c down from second 20 to 50", ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(56)
        .build_cartesian_2d(0..SECONDS, 0f64..100f64)?;
    chart.configure_mesh().disable_x_mesh().y_labels(5).y_desc("%").draw()?;
    for (endpoint, name) in ENDPOINTS.iter().enumerate().rev() {
        let height = |answered: &[u32; ENDPOINTS.len()]| {
            let sum = |counts: &[u32]| f64::from(counts.iter().sum::<u32>());
            100.0 * sum(&answered[..=endpoint]) / sum(answered).max(1.0)
        };
        let line = story.answered.iter().map(height).enumerate();
        chart
            .draw_series(AreaSeries::new(line, 0.0, colour(endpoint).filled()))?
            .label(*name)
            .legend(move |(x, y)| {
                Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour(endpoint).filled())
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}

/// The state of each endpoint: green eligible, red cooling, yellow probed.
fn draw_states(story: &Story, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption("State: green eligible, red cooling, yellow probe", ("sans-serif", 14))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(56)
        .build_cartesian_2d(0f64..SECONDS as f64, 0f64..ENDPOINTS.len() as f64)?;
    chart.configure_mesh().disable_mesh().disable_y_axis().draw()?;
    for (endpoint, name) in ENDPOINTS.iter().enumerate() {
        let row = (ENDPOINTS.len() - 1 - endpoint) as f64;
        let turns = story.turns.iter().filter(|(_, whose, _)| *whose == endpoint);
        let mut bands = vec![(0.0, State::Eligible)];
        bands.extend(turns.map(|(at, _, state)| (*at, *state)));
        let ends = bands.iter().skip(1).map(|(at, _)| *at).chain([SECONDS as f64]);
        let bands: Vec<_> = bands.iter().zip(ends).collect();
        let (long, short): (Vec<_>, Vec<_>) =
            bands.into_iter().partition(|((_, state), _)| *state != State::Probing);
        // A probe takes an instant: it is drawn last, and wide enough to be seen.
        chart.draw_series(long.into_iter().chain(short).map(|((from, state), to)| {
            let to = if *state == State::Probing { from + 0.3 } else { to };
            Rectangle::new([(*from, row), (to, row + 0.9)], state_colour(*state).filled())
        }))?;
        let text = ("sans-serif", 14).into_font();
        chart.draw_series([Text::new((*name).to_owned(), (0.6, row + 0.8), text)])?;
    }
    Ok(())
}

/// Calls that ended without an answer, in each second.
fn draw_failures(story: &Story, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
    let most = story.failed.iter().max().copied().unwrap_or(0).max(4);
    let mut chart = ChartBuilder::on(area)
        .caption("Failed calls a second (of 200)", ("sans-serif", 14))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(56)
        .build_cartesian_2d(0..SECONDS, 0..most)?;
    chart.configure_mesh().disable_x_mesh().y_labels(3).x_desc("seconds").draw()?;
    let bars = story.failed.iter().enumerate();
    chart.draw_series(bars.map(|(second, failed)| {
        Rectangle::new([(second, 0), (second + 1, *failed)], RED.filled())
    }))?;
    Ok(())
}
