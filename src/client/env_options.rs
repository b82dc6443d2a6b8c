//! Options by variables of the environment, where the program asks for it.

use super::builder::ClientBuilder;
use super::environment::Environment;
use super::error::{Error, Result};
use super::options::options;

impl ClientBuilder {
    /// Sets every option that a variable of the environment names: `prefix` and the name of the option in
    /// capitals, `MYAPP_BASE_URLS` and `MYAPP_DEADLINE` for the prefix `MYAPP_`. `MYAPP_PRESET` is a preset
    /// and comes first. One that is not set, or empty, changes nothing; what was set before is
    /// overridden, but that base URLs are added.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://api.example.com")
    ///     .env("MYAPP_") // MYAPP_DEADLINE=10s MYAPP_BASE_URLS=https://fallback.example.com myapp
    ///     .build()?;
    /// assert_eq!(client.snapshot().members()[0].label(), "https://api.example.com");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// No variable is looked at.
    ///
    /// # Errors
    ///
    /// As [`set`](ClientBuilder::set); the message begins with the name of the variable.
    pub fn env(self, prefix: &str) -> Self {
        self.with(|builder| builder.set_from(&Environment::of_process(), prefix))
    }

    fn set_from(&mut self, environment: &Environment<'_>, prefix: &str) -> Result<()> {
        let found = |option: &str| {
            let name = format!("{prefix}{}", option.to_ascii_uppercase());
            environment.value(&name).map(|value| (name, value))
        };
        let of = |name: &str, error: Error| error.prefixed(&format!("{name}: "));
        if let Some((name, value)) = found("preset") {
            self.set_preset(&value).map_err(|error| of(&name, error))?;
        }
        for option in options() {
            if let Some((name, value)) = found(option.name()) {
                self.set_option(option.name(), &value).map_err(|error| of(&name, error))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    fn from(variables: &[(&str, &str)]) -> Result<Client> {
        let find = |name: &str| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let environment = Environment { variable: &find, ignores_case: false };
        Client::builder().with(|builder| builder.set_from(&environment, "MYAPP_")).build()
    }

    #[test]
    fn every_option_has_a_variable() {
        // In a list of hosts to be reached straight, what is none is left out and told.
        for option in options().iter().filter(|option| option.name() != "no_proxy") {
            let name = format!("MYAPP_{}", option.name().to_uppercase());
            let error = from(&[(&name, "\u{1}")]).expect_err(&name);
            assert!(error.to_string().starts_with(&format!("{name}: ")), "{error}");
        }
    }

    #[test]
    fn the_preset_comes_first_and_empty_is_not_set() {
        let urls = ("MYAPP_BASE_URLS", "http://a.example, http://b.example");
        let client = from(&[urls, ("MYAPP_PRESET", "agoda"), ("MYAPP_MAX_ATTEMPTS", "7")]).unwrap();
        assert_eq!(client.shared.call.max_attempts, Some(7));
        assert_eq!(client.shared.call.attempts_per_endpoint, 3);
        let client = from(&[urls, ("MYAPP_MAX_ATTEMPTS", " "), ("MAX_ATTEMPTS", "7")]).unwrap();
        assert_eq!(client.shared.call.max_attempts, None);
        assert_eq!(client.snapshot().members().len(), 2);
        let error = from(&[urls, ("MYAPP_PRESET", "fast")]).unwrap_err();
        assert!(error.to_string().starts_with("MYAPP_PRESET: "), "{error}");
    }
}
