//! Sets of options that belong together.

use super::error::{Error, Result};
use super::options;
use super::settings::{CallSettings, ClientSettings};
use super::status::Status;

/// The presets by name, each a list of options and their texts.
const PRESETS: &[(&str, &[(&str, &str)])] = &[
    ("default", &[]),
    // Seed 000 is the default.
    ("datatug", &[]),
    // Seed 003.
    (
        "agoda",
        &[
            ("selection", "weighted"),
            ("max_attempts", "3"),
            ("attempts_per_endpoint", "3"),
            ("resend", "any"),
            ("resend_statuses", "408,5xx"),
            ("require_success", "on"),
        ],
    ),
    // Seed 001.
    ("breaker", &[("breaker", "on"), ("error_statuses", "5xx,429")]),
    // What we would run ourselves. After three failures an endpoint weighs 1 of 1000 and is hardly
    // drawn again: the circuit has to open then, or only luck would find out that it is well.
    (
        "resilient",
        &[
            ("selection", "weighted"),
            ("breaker", "on"),
            ("breaker_threshold", "3"),
            ("breaker_base_delay", "250ms"),
            ("breaker_max_delay", "20s"),
            ("when_none_eligible", "try_nearest"),
            ("deadline", "30s"),
            ("retry_budget", "20%+1/s"),
        ],
    ),
];

/// Sets the options of a preset; the others stay as they are.
pub(crate) fn apply(
    client: &mut ClientSettings,
    call: &mut CallSettings,
    name: &str,
) -> Result<()> {
    let Some((_, texts)) = PRESETS.iter().find(|(preset, _)| *preset == name) else {
        let names: Vec<_> = PRESETS.iter().map(|(name, _)| *name).collect();
        let shown: String = name.chars().take(64).collect();
        return Err(Error::of_option(
            Status::Option,
            "preset",
            format!("`{}` is no preset: there are {}", shown.escape_debug(), names.join(", ")),
        ));
    };
    for (option, text) in *texts {
        options::set_client(client, call, option, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_set() {
        for (name, texts) in PRESETS {
            let (mut client, mut call) = Default::default();
            apply(&mut client, &mut call, name).unwrap();
            let plain = format!("{:?}{:?}", ClientSettings::default(), CallSettings::default());
            assert_eq!(format!("{client:?}{call:?}") == plain, texts.is_empty(), "{name}");
        }
    }

    #[test]
    fn an_unknown_preset_is_named() {
        let (mut client, mut call) = Default::default();
        let error = apply(&mut client, &mut call, "reckless").unwrap_err();
        assert_eq!((error.status(), error.option()), (Status::Option, Some("preset")));
        assert!(error.to_string().contains("`reckless`"), "{error}");
    }
}
