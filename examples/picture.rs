//! Text that a program has written, as a picture of a terminal: how the pictures of the README are made.
//!
//! ```text
//! cargo run --example quickstart | cargo run --example picture -- src/manual/quickstart.svg
//! cargo run --example watch | cargo run --example picture -- src/manual/watch.svg 27 16
//! ```
//!
//! After the file come the first line to be shown, from 1, and how many.

use std::error::Error;
use std::io::Read;

/// Of a common monospaced font at 13 pixels.
const CHARACTER: f64 = 7.83;
const LINE: usize = 17;
const MARGIN: usize = 14;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, range @ ..] = arguments.as_slice() else { return Err("give a file".into()) };
    let number = |place: usize, default: usize| {
        range.get(place).map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (first, count) = (number(0, 1)?, number(1, usize::MAX)?);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let lines: Vec<&str> = text.lines().skip(first.saturating_sub(1)).take(count).collect();
    if lines.is_empty() {
        return Err(format!("there is no line {first}").into());
    }
    std::fs::write(file, picture(&lines))?;
    Ok(())
}

fn picture(lines: &[&str]) -> String {
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = (longest as f64 * CHARACTER).ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2128\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"13\" fill=\"#d7dae0\" xml:space=\"preserve\">\n"
    );
    for (n, line) in lines.iter().enumerate() {
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // Where the font is another one, the columns still stand under each other.
        let length = line.chars().count() as f64 * CHARACTER;
        let y = MARGIN + n * LINE + 12;
        svg.push_str(&format!(
            "<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length:.0}\">{text}</text>\n"
        ));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}
